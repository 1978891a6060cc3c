//! `--report` of `clawgate eval`: evaluations in the forms of CI systems, by the reporters of `clawgate run`.

use std::path::Path;
use std::time::Instant;

use crate::cli::reports::{ReportArgs, finish};
use crate::cli::{CommandError, Format};
use crate::exit_code::Outcome;
use crate::report::{Evaluated, Kind, ReportRequest, Sinks, evaluations};

#[derive(Debug, clap::Args)]
pub(super) struct EvalReportArg {
    /// A report besides report.html of the iteration: junit, sarif, github, gitlab or markdown. PATH may be `-`; without
    /// it the report goes to its usual file in --out. A case, a control, the triggers and the whole are a test each.
    /// Several at once
    #[arg(
        long,
        value_name = "KIND[=PATH]",
        env = "CLAWGATE_EVAL_REPORT",
        value_delimiter = ',',
        value_parser = wish
    )]
    report: Vec<ReportRequest>,
}

/// A report that evaluations have.
fn wish(text: &str) -> Result<ReportRequest, String> {
    let wish: ReportRequest = text.parse()?;
    let instead = match wish.kind {
        Kind::Terminal => "it is the output anyway",
        Kind::Json => "use --format json",
        Kind::Html => "report.html is written into the iteration anyway",
        Kind::Conformance => "it is about contracts, which `clawgate run` tests",
        _ => return Ok(wish),
    };
    Err(format!("evaluations have no report `{}`: {instead}", wish.kind.name()))
}

/// The reports for CI systems, all evaluations in each.
pub(super) struct Reports {
    args: ReportArgs,
    sinks: Option<Sinks>,
    started: Instant,
}

impl Reports {
    pub(super) fn open(wishes: &EvalReportArg, format: Format, out: &Path) -> Result<Self, CommandError> {
        let args = ReportArgs::beside(wishes.report.clone(), format);
        Ok(Self { sinks: args.open_beside(out)?, args, started: Instant::now() })
    }

    /// Writes them, and answers with the exit code that follows from that alone.
    pub(super) fn write(self, done: &[Evaluated]) -> Outcome {
        let Some(mut sinks) = self.sinks else { return Outcome::Ok };
        let duration_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        for event in &evaluations(done, duration_ms) {
            sinks.on_event(event);
        }
        finish(&self.args, sinks)
    }
}
