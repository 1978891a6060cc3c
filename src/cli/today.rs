//! The day, which enters the program here and nowhere else.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::events::date;

/// Today in UTC as `YYYY-MM-DD`.
pub(super) fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
