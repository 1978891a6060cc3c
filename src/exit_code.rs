//! The exit codes of the `clawgate` command. They are part of the API: scripts and CI jobs branch on them.
//!
//! When several apply, the gravest is reported: usage, then interrupted, environment, nothing selected, findings.

/// Everything was judged and nothing is wrong.
pub const OK: u8 = 0;
/// A contract, a golden snapshot, a verdict or an evaluation failed, or a change is breaking.
pub const FINDINGS: u8 = 100;
/// The command line is wrong, or an input file cannot be read or understood.
pub const USAGE: u8 = 2;
/// The environment failed: a target is missing, a port or the disk is not available, too little was measured.
pub const ENVIRONMENT: u8 = 3;
/// The filters selected nothing, so nothing was checked.
pub const NOTHING_SELECTED: u8 = 4;
/// Interrupted by the user.
pub const INTERRUPTED: u8 = 130;

/// What a command came to, the lightest first: when several apply, the greatest counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    #[default]
    Ok,
    Findings,
    NothingSelected,
    Environment,
    Interrupted,
    Usage,
    /// The code of another program, or of a run that was recorded elsewhere.
    Other(u8),
}

impl Outcome {
    /// Findings, if there are any.
    #[cfg(feature = "cli")]
    pub(crate) fn of_findings(any: bool) -> Self {
        if any { Self::Findings } else { Self::Ok }
    }

    /// Takes this in as well.
    #[cfg(feature = "cli")]
    pub(crate) fn add(&mut self, other: impl Into<Self>) {
        *self = (*self).max(other.into());
    }
}

impl From<Outcome> for u8 {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Ok => OK,
            Outcome::Findings => FINDINGS,
            Outcome::NothingSelected => NOTHING_SELECTED,
            Outcome::Environment => ENVIRONMENT,
            Outcome::Interrupted => INTERRUPTED,
            Outcome::Usage => USAGE,
            Outcome::Other(code) => code,
        }
    }
}

impl From<u8> for Outcome {
    fn from(code: u8) -> Self {
        match code {
            OK => Self::Ok,
            FINDINGS => Self::Findings,
            NOTHING_SELECTED => Self::NothingSelected,
            ENVIRONMENT => Self::Environment,
            INTERRUPTED => Self::Interrupted,
            USAGE => Self::Usage,
            other => Self::Other(other),
        }
    }
}

/// The code to exit with when both `a` and `b` apply.
#[cfg(feature = "cli")]
pub(crate) fn worst(a: u8, b: u8) -> u8 {
    Outcome::from(a).max(b.into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_order_decides() {
        let order = [USAGE, INTERRUPTED, ENVIRONMENT, NOTHING_SELECTED, FINDINGS, OK];
        for (i, &heavier) in order.iter().enumerate() {
            for &lighter in &order[i..] {
                assert_eq!(worst(heavier, lighter), heavier);
                assert_eq!(worst(lighter, heavier), heavier);
            }
        }
    }
}
