//! The day and the time, which enters the program here and nowhere else.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::events::{date, time_of_day};

/// Today in UTC as `YYYY-MM-DD`.
pub(super) fn today() -> String {
    date(millis())
}

/// Now in UTC, as RFC 3339.
pub(super) fn now() -> String {
    let now = millis();
    format!("{}T{}Z", date(now), time_of_day(now))
}

fn millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
