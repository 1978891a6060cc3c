//! What somebody noted on the trials of an evaluation: `feedback.json`, as skill-creator's viewer writes it. The page
//! saves it, whoever reads the next round has it beside the new trials.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::document;
use crate::eval::Iteration;

const FILE: &str = "feedback.json";
/// Iterations before this one that are looked at for notes.
const MOST_BACK: u32 = 20;

/// A note of an earlier iteration.
pub(super) struct Note {
    pub(super) iteration: u32,
    pub(super) text: String,
}

/// The notes on an iteration, and the last ones before it.
pub(super) struct Notes {
    own: BTreeMap<String, String>,
    earlier: Option<(u32, BTreeMap<String, String>)>,
}

impl Notes {
    /// Reads what is there. A file that is none of ours has no notes.
    pub(super) fn read(iteration: &Iteration) -> Self {
        let parent = iteration.folder.parent().unwrap_or(Path::new("."));
        let earlier = (iteration.number.saturating_sub(MOST_BACK).max(1)..iteration.number)
            .rev()
            .map(|number| (number, reviews(&parent.join(format!("iteration-{number}")))))
            .find(|(_, notes)| !notes.is_empty());
        Self { own: reviews(&iteration.folder), earlier }
    }

    /// What was noted on a run of this iteration before the page was written again.
    pub(super) fn own(&self, run: &str) -> Option<&str> {
        self.own.get(run).map(String::as_str)
    }

    /// What was noted on the same run in the last iteration that has notes.
    pub(super) fn earlier(&self, run: &str) -> Option<Note> {
        let (iteration, notes) = self.earlier.as_ref()?;
        Some(Note { iteration: *iteration, text: notes.get(run)?.clone() })
    }
}

fn reviews(folder: &Path) -> BTreeMap<String, String> {
    let value = document::read(&folder.join(FILE))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let reviews = value.as_ref().and_then(|value| value["reviews"].as_array());
    let review = |review: &Value| {
        let text = review["feedback"].as_str().filter(|text| !text.trim().is_empty())?;
        Some((review["run_id"].as_str()?.to_owned(), text.to_owned()))
    };
    reviews.into_iter().flatten().filter_map(review).collect()
}
