//! `--fail-on`: from which level on a broken clause fails, the same for every command that judges.

use clap::{Args, ValueEnum};

use crate::schema::{Finding, Level};

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct FailOnArg {
    /// The least level of a broken clause that fails [default: must]
    #[arg(long, value_enum, value_name = "LEVEL", env = "CLAWGATE_FAIL_ON")]
    pub(super) fail_on: Option<FailOn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    Must,
    Should,
}

impl FailOn {
    /// The level that it names.
    pub(super) fn level(self) -> Level {
        match self {
            Self::Must => Level::Must,
            Self::Should => Level::Should,
        }
    }
}

impl FailOnArg {
    /// The level from which on a broken clause fails.
    pub(super) fn level(self) -> Level {
        self.fail_on.unwrap_or(FailOn::Must).level()
    }

    /// Whether a finding fails; one that is accepted for now does not.
    pub(super) fn fails(self, finding: &Finding) -> bool {
        finding.level >= self.level() && finding.known.is_none()
    }
}
