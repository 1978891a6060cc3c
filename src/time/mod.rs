//! Times in UTC as milliseconds since 1970: read from RFC 3339 and written for programs and people.

#[cfg(feature = "testing")]
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) type Millis = i64;

/// How a time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    Utc,
    Offset,
}

/// Reads an RFC 3339 time with a zone.
pub(crate) fn parse(text: &str) -> Option<(Millis, Zone)> {
    let bytes = text.as_bytes();
    if bytes.len() < 20 || bytes[4] != b'-' || bytes[7] != b'-' || bytes[13] != b':' || bytes[16] != b':' {
        return None;
    }
    if !matches!(bytes[10], b'T' | b't' | b' ') {
        return None;
    }
    let year = digits(&bytes[0..4])?;
    let (month, day) = (digits(&bytes[5..7])?, digits(&bytes[8..10])?);
    let (hour, minute, second) = (digits(&bytes[11..13])?, digits(&bytes[14..16])?, digits(&bytes[17..19])?);
    if !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
        return None;
    }
    // A leap second is written 60.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut at = 19;
    let mut millis = 0;
    if bytes[at] == b'.' {
        let length = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return None;
        }
        let scale = [100, 10, 1];
        for (digit, scale) in bytes[at + 1..at + 1 + length].iter().zip(scale) {
            millis += i64::from(digit - b'0') * scale;
        }
        at += 1 + length;
    }
    let (zone, shift) = match bytes.get(at..)? {
        [b'Z' | b'z'] => (Zone::Utc, 0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (digits(&[*h1, *h2])?, digits(&[*m1, *m2])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let shift = (hours * 60 + minutes) * 60_000;
            (Zone::Offset, if *sign == b'+' { -shift } else { shift })
        }
        _ => return None,
    };
    let seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some((seconds * 1000 + millis + shift, zone))
}

/// Reads a time in UTC as the validators of the published tooling do: seconds may be left out, a leap second is none, and
/// `T` and `Z` are capitals.
#[cfg(feature = "contracts")]
pub(crate) fn parse_utc(text: &str) -> Option<Millis> {
    let (rest, zone) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let whole = if rest.len() == 16 { format!("{rest}:00Z") } else { text.to_owned() };
    let is_strict = zone == "Z" && whole.as_bytes().get(10) == Some(&b'T') && whole.get(17..19) != Some("60");
    parse(&whole).filter(|_| is_strict).map(|(time, _)| time)
}

/// Whether the text is a day of the calendar, written `YYYY-MM-DD`.
#[cfg(feature = "testing")]
pub(crate) fn is_day(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else { return false };
    let parts = (digits(&[*y1, *y2, *y3, *y4]), digits(&[*m1, *m2]), digits(&[*d1, *d2]));
    let (Some(year), Some(month), Some(day)) = parts else { return false };
    (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day)
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the Gregorian calendar; the year is taken to start in March, so that the leap day is last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The time now. To be asked at the edge of the program only: decisions are handed the time.
#[cfg(feature = "testing")]
pub(crate) fn now() -> Millis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as Millis)
}

/// A time as `2026-01-15T10:30:00.000Z`.
#[cfg(feature = "contracts")]
pub(crate) fn rfc3339(time: Millis) -> String {
    format!("{}T{}Z", date(time), time_of_day(time))
}

/// A time as `2026-01-15T10:30:00Z`.
#[cfg(feature = "cli")]
pub(crate) fn rfc3339_seconds(time: Millis) -> String {
    format!("{}T{}Z", date(time), &time_of_day(time)[..8])
}

/// A time of day in UTC, with milliseconds.
#[cfg(feature = "contracts")]
pub(crate) fn time_of_day(time: Millis) -> String {
    let of_day = time.rem_euclid(86_400_000);
    let (seconds, millis) = (of_day / 1000, of_day % 1000);
    format!("{:02}:{:02}:{:02}.{millis:03}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A date in UTC.
#[cfg(feature = "contracts")]
pub(crate) fn date(time: Millis) -> String {
    let days = time.div_euclid(86_400_000) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A span of time for people.
pub(crate) fn span(millis: Millis) -> String {
    let millis = millis.max(0);
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        60_000..3_600_000 => format!("{} min {:02} s", millis / 60_000, millis / 1000 % 60),
        _ => format!("{} h {:02} min", millis / 3_600_000, millis / 60_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_zone() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some((0, Zone::Utc)));
        assert_eq!(parse("2026-06-01T09:00:00.002Z"), Some((1_780_304_400_002, Zone::Utc)));
        assert_eq!(parse("2026-06-01T14:30:00.002+05:30"), Some((1_780_304_400_002, Zone::Offset)));
        assert_eq!(parse("2000-02-29T00:00:00.123456Z"), Some((951_782_400_123, Zone::Utc)));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2026-06-01 09:00:00",
            "2026-06-01T09:00:00",
            "2026-13-01T09:00:00Z",
            "2026-02-29T09:00:00Z",
            "2026-06-01T09:00:00.Z",
            "2026-06-01T09:00:00Zx",
            "ß026-06-01T09:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_day_is_one_of_the_calendar() {
        for day in ["2026-12-31", "2028-02-29", "2000-02-29"] {
            assert!(is_day(day), "{day}");
        }
        for none in
            ["2026-13-45", "2026-99-99", "2026-02-30", "2027-02-29", "2026-00-10", "2026-10-00", "soon", ""]
        {
            assert!(!is_day(none), "{none}");
        }
    }

    #[test]
    fn times_are_shown() {
        assert_eq!(time_of_day(1_780_304_400_002), "09:00:00.002");
        assert_eq!(date(1_780_304_400_002), "2026-06-01");
        assert_eq!(date(951_782_400_123), "2000-02-29");
        assert_eq!(rfc3339(951_782_400_123), "2000-02-29T00:00:00.123Z");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(rfc3339_seconds(1_780_304_400_002), "2026-06-01T09:00:00Z");
        assert_eq!(
            [span(5), span(1550), span(65_000), span(3_700_000)],
            ["5 ms", "1.5 s", "1 min 05 s", "1 h 01 min"]
        );
    }
}
