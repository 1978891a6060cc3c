//! The evaluation that another is compared with, looked at before anything is run: trials cost time and money, and a
//! comparison that cannot be made is known without them.

use std::path::{Path, PathBuf};

use super::store::{self, Stamp};
use super::trial::SCHEMA_VERSION;

/// Why nothing can be compared with an evaluation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BaselineError {
    /// There is no report in the folder.
    #[error(
        "--baseline {}: no report.json in it; name the folder of a finished evaluation, such as \
         clawgate-out/eval/SKILL/iteration-1", .0.display()
    )]
    Missing(PathBuf),
    /// The report is not one of ours, or it is damaged.
    #[error("--baseline {}: its report.json cannot be read: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    /// It says nothing, or something about another thing.
    #[error("--baseline {} cannot be compared: {reason}", path.display())]
    Unlike { path: PathBuf, reason: String },
}

/// Whether an evaluation with this stamp can be compared with the one in the folder.
pub(crate) fn check(folder: &Path, stamp: &Stamp) -> Result<(), BaselineError> {
    let path = || folder.to_owned();
    let report = store::report(folder).ok_or_else(|| BaselineError::Missing(path()))?;
    let earlier: Stamp = serde_json::from_value(report["stamp"].clone())
        .map_err(|error| BaselineError::Damaged { path: path(), reason: error.to_string() })?;
    let rate = &report["overall"]["with_skill"]["pass_rate"];
    if !rate.is_object() {
        return Err(BaselineError::Damaged { path: path(), reason: "it has no pass rate".into() });
    }
    let damaged = |reason: &str| Err(BaselineError::Damaged { path: path(), reason: reason.into() });
    if report["schema_version"].as_u64().is_none_or(|version| version > SCHEMA_VERSION) {
        return damaged("it is of a newer clawgate");
    }
    // What is compared is what these two say.
    let (Some(passed), Some(measured)) = (rate["passed"].as_u64(), rate["measured"].as_u64()) else {
        return damaged("its pass rate is no two counts");
    };
    if passed > measured {
        return damaged("more trials passed than were measured");
    }
    let unlike = |reason: String| Err(BaselineError::Unlike { path: path(), reason });
    match report["status"].as_str() {
        Some("pass" | "fail") => {}
        status => return unlike(format!("it is {}", status.unwrap_or("damaged"))),
    }
    if measured == 0 {
        return unlike("nothing was measured with the skill".into());
    }
    stamp.differs(&earlier).map_or(Ok(()), unlike)
}
