//! The colours of the terminal view. The stream that they are written to drops them where they do not belong.

use anstyle::{AnsiColor, Style};

pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Something to look at.
pub(crate) const CAUTION: Style = AnsiColor::Yellow.on_default();
pub(crate) const NAME: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();
