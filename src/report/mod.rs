//! Showing results: to people on a terminal, to programs as JSON.

mod drift;
mod judgement_json;
mod judgement_text;
mod live;
mod log_judgement;
mod numbers;
mod printable;
mod run_text;
pub mod style;
pub mod timeline;

pub use drift::{drift_markdown, drift_text, matrix_text};
pub use judgement_json::judgement_json;
pub use judgement_text::write_judgement;
pub use live::live_line;
pub use log_judgement::{log_judgement_json, write_log_judgement};
pub use printable::printable;
pub use run_text::RunText;
