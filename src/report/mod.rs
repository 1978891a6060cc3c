//! Showing results: to people on a terminal and in a browser, to CI systems in their own formats, to programs as JSON.
//!
//! A run is told by one stream of events. [`Sinks`] passes each of them to every report that is wished for; reports
//! that are one document are rendered from the `RunReport` when the run is over.

mod cause;
mod conformance;
mod context;
mod document;
mod drift;
mod evaluation;
mod evidence;
mod github;
mod gitlab;
mod har;
mod html;
mod judgement_json;
mod judgement_text;
mod junit;
mod live;
mod log_judgement;
mod markdown;
pub mod merge;
mod numbers;
mod output;
mod problem;
mod progress;
mod quote;
mod run_report;
mod sarif;
mod sinks;
pub(crate) mod style;
mod tap;
mod terminal;
pub(crate) mod timeline;
mod timings;
mod wrap;

pub use context::Context;
pub(crate) use document::write as write_whole;
pub(crate) use drift::{drift_markdown, drift_text, effect_style, matrix_text};
pub(crate) use evaluation::{Evaluated, EvaluationText, evaluations, write_evaluation_pages};
pub(crate) use har::har;
pub use judgement_json::judgement_json;
pub(crate) use judgement_text::write_judgement;
pub(crate) use live::live_line;
pub(crate) use progress::{Progress, columns_of};
pub(crate) use sarif::Baseline;
pub use sinks::Kind;
pub use sinks::Options;
pub use sinks::ReportRequest;
pub use sinks::Sinks;
pub use terminal::{Terminal, Verbosity};
pub(crate) use timings::Timings;
