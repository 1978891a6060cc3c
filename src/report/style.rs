//! The colours of the terminal view. The stream that they are written to drops them where they do not belong.

use anstyle::{AnsiColor, Style};

/// Something is wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Something is right.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Something to look at.
pub(crate) const CAUTION: Style = AnsiColor::Yellow.on_default();
/// Names of things.
pub(crate) const NAME: Style = Style::new().bold();
/// What matters less.
pub(crate) const FAINT: Style = Style::new().dimmed();
