//! Reads the text form of faults: `name:key=value,key`.

use std::str::FromStr;

use crate::harness::mock::fault::catalogue::CATALOGUE;
use crate::harness::mock::fault::{CutPoint, Ending, Fault, FaultError, FaultKind, HttpFault};
use crate::harness::mock::pace::Pace;
use crate::text::nearest;

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        read(text).map_err(|message| FaultError { text: text.to_owned(), message })
    }
}

fn read(text: &str) -> Result<Fault, String> {
    let mut given = Parameters::parse(text)?;
    let times = given.number("times")?;
    if times == Some(0) {
        return Err("`times` is how often it happens: 1 or more".to_owned());
    }
    let turn = given.value("turn")?;
    let kind = match given.name() {
        "http" => http(&mut given)?,
        "error-event" => FaultKind::ErrorEvent {
            error_type: given.value("type")?.unwrap_or_else(|| "overloaded_error".to_owned()),
            message: given.value("message")?.unwrap_or_else(|| "Overloaded".to_owned()),
            after_event: given.number("after-event")?.unwrap_or(0),
        },
        "close" => FaultKind::Cut { ending: Ending::Close, at: cut_point(&mut given)? },
        "rst" => FaultKind::Cut { ending: Ending::Reset, at: cut_point(&mut given)? },
        "end" => match cut_point(&mut given)? {
            CutPoint::BeforeHeaders | CutPoint::InHeaders => {
                return Err("`end` ends a body cleanly, so it needs a place in the body".to_owned());
            }
            at => FaultKind::Cut { ending: Ending::End, at },
        },
        "stall" => {
            let for_ms = given.number("for-ms")?;
            FaultKind::Cut { ending: Ending::Stall { for_ms }, at: cut_point(&mut given)? }
        }
        "slow" => FaultKind::Slow(Pace {
            first_byte_ms: given.number("first-byte-ms")?.unwrap_or(0),
            event_ms: given.number("event-ms")?,
            jitter_ms: given.number("jitter-ms")?.unwrap_or(0),
            bytes_per_second: given.positive("bytes-per-second")?,
        }),
        "content-type" => FaultKind::ContentType(
            given.header("value")?.unwrap_or_else(|| "text/plain; charset=utf-8".to_owned()),
        ),
        "html" => FaultKind::Html { status: status(&mut given, 200)? },
        "empty" => FaultKind::Empty { status: status(&mut given, 200)? },
        "content-length" => match given.number("delta")?.unwrap_or(1) {
            0 => return Err("`delta=0` is the right length; give another number".to_owned()),
            delta => FaultKind::ContentLength { delta },
        },
        "malformed-sse" => FaultKind::MalformedSse { event: event(&mut given)? },
        "malformed-json" => FaultKind::MalformedJson { event: event(&mut given)? },
        "invalid-utf8" => FaultKind::InvalidUtf8 { event: event(&mut given)? },
        "endless-pings" => FaultKind::EndlessPings {
            after_event: given.number("after-event")?.unwrap_or(1),
            every_ms: given.positive("every-ms")?.unwrap_or(10),
        },
        "huge-text" => match given.positive("megabytes")?.unwrap_or(50) {
            megabytes @ 1..=200 => FaultKind::HugeText { megabytes },
            _ => return Err("`megabytes` is at most 200".to_owned()),
        },
        "refuse" => FaultKind::Refuse {
            after_requests: given.number("after-requests")?.unwrap_or(0),
            for_ms: given.number("for-ms")?,
        },
        unknown => return Err(Parameters::unknown_name(unknown)),
    };
    given.finish()?;
    if matches!(kind, FaultKind::Refuse { .. }) && (times.is_some() || turn.is_some()) {
        return Err("`refuse` is the whole server's; it takes neither `times` nor `turn`".to_owned());
    }
    Ok(Fault { kind, turn, times })
}

fn http(given: &mut Parameters<'_>) -> Result<FaultKind, String> {
    let status = given.number("status")?;
    let mut fault = HttpFault {
        status: 0,
        retry_after: given.header("retry-after")?,
        should_retry: given.boolean("should-retry")?,
        error_type: given.value("type")?,
        message: given.value("message")?,
        unified: given.header("unified")?,
        resets_at: given.number("resets-at")?,
    };
    match status {
        Some(status @ 400..=599) => fault.status = status,
        Some(status) => return Err(format!("status {status} is no error; 400 to 599 are")),
        None => {
            given.finish()?;
            return Err("`http` needs a `status`, such as `http:status=429`".to_owned());
        }
    }
    Ok(FaultKind::Http(fault))
}

fn status(given: &mut Parameters<'_>, default: u16) -> Result<u16, String> {
    match given.number("status")?.unwrap_or(default) {
        status @ (200 | 201 | 202 | 203 | 400..=599) => Ok(status),
        other => Err(format!("status {other} cannot carry it; 200 to 203 and 400 to 599 can")),
    }
}

fn event(given: &mut Parameters<'_>) -> Result<usize, String> {
    Ok(given.positive("event")?.unwrap_or(1))
}

fn cut_point(given: &mut Parameters<'_>) -> Result<CutPoint, String> {
    let mut points = Vec::new();
    if given.flag("before-headers")? {
        points.push(CutPoint::BeforeHeaders);
    }
    if given.flag("in-headers")? {
        points.push(CutPoint::InHeaders);
    }
    if given.flag("after-headers")? {
        points.push(CutPoint::AfterHeaders);
    }
    if let Some(count) = given.number("after-event")? {
        points.push(CutPoint::AfterEvent(count));
    }
    let byte = given.number("byte")?;
    if let Some(event) = given.positive("in-event")? {
        points.push(CutPoint::InEvent { event, byte });
    } else if byte.is_some() {
        return Err("`byte` counts inside an event: give `in-event` too".to_owned());
    }
    if let Some(nth) = given.positive_or_flag("in-char")? {
        points.push(CutPoint::InChar(nth));
    }
    if let Some(count) = given.number("after-byte")? {
        points.push(CutPoint::AfterByte(count));
    }
    match points[..] {
        [point] => Ok(point),
        [] => {
            given.finish()?;
            Err("say where: before-headers, in-headers, after-headers, after-event=N, in-event=N, in-char=N \
                   or after-byte=N"
                .to_owned())
        }
        _ => Err("one place only, please".to_owned()),
    }
}

/// What was typed, taken apart; like a table of a document it remembers what it was asked for.
struct Parameters<'t> {
    name: &'t str,
    given: Vec<(String, Option<String>)>,
    asked: Vec<&'static str>,
}

/// A key as it was typed.
enum Given {
    Not,
    Bare,
    Value(String),
}

impl<'t> Parameters<'t> {
    fn parse(text: &'t str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut given: Vec<(String, Option<String>)> = Vec::new();
        for part in split(rest)? {
            let (key, value) = match part.split_once('=') {
                Some((key, value)) => (key, Some(unquote(value))),
                None => (part.as_str(), None),
            };
            let key = key.trim();
            if given.iter().any(|(known, _)| known == key) {
                return Err(format!("`{key}` is given twice"));
            }
            given.push((key.to_owned(), value));
        }
        Ok(Parameters { name: name.trim(), given, asked: Vec::new() })
    }

    fn name(&self) -> &'t str {
        self.name
    }

    fn unknown_name(name: &str) -> String {
        let known = || CATALOGUE.iter().map(|entry| entry.name);
        match nearest(name, known()) {
            Some(meant) => format!("unknown fault `{name}`, did you mean `{meant}`?"),
            None => {
                format!("unknown fault `{name}`, expected one of: {}", known().collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn take(&mut self, key: &'static str) -> Given {
        self.asked.push(key);
        match self.given.iter().position(|(known, _)| known == key) {
            None => Given::Not,
            Some(at) => self.given.remove(at).1.map_or(Given::Bare, Given::Value),
        }
    }

    fn value(&mut self, key: &'static str) -> Result<Option<String>, String> {
        match self.take(key) {
            Given::Not => Ok(None),
            Given::Value(value) => Ok(Some(value)),
            Given::Bare => Err(format!("`{key}` needs a value, as in `{key}=…`")),
        }
    }

    /// A value that is sent in a header.
    fn header(&mut self, key: &'static str) -> Result<Option<String>, String> {
        match self.value(key)? {
            Some(value) if value.contains(char::is_control) => {
                Err(format!("`{key}` is sent in a header, which has no control characters"))
            }
            value => Ok(value),
        }
    }

    fn number<T: FromStr>(&mut self, key: &'static str) -> Result<Option<T>, String> {
        let Some(value) = self.value(key)? else { return Ok(None) };
        value.parse().map(Some).map_err(|_| format!("`{key}` is a number, not `{value}`"))
    }

    fn positive<T: FromStr + PartialOrd + From<u8>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<T>, String> {
        match self.number::<T>(key)? {
            Some(number) if number < T::from(1) => Err(format!("`{key}` is 1 or more")),
            other => Ok(other),
        }
    }

    /// `key=N`, or the bare key for 1.
    fn positive_or_flag(&mut self, key: &'static str) -> Result<Option<usize>, String> {
        match self.given.iter().find(|(known, _)| known == key) {
            Some((_, None)) => {
                self.take(key);
                Ok(Some(1))
            }
            _ => self.positive(key),
        }
    }

    fn boolean(&mut self, key: &'static str) -> Result<Option<bool>, String> {
        let Some(value) = self.value(key)? else { return Ok(None) };
        value.parse().map(Some).map_err(|_| format!("`{key}` is true or false, not `{value}`"))
    }

    fn flag(&mut self, key: &'static str) -> Result<bool, String> {
        match self.take(key) {
            Given::Not => Ok(false),
            Given::Bare => Ok(true),
            Given::Value(_) => Err(format!("`{key}` takes no value")),
        }
    }

    /// Refuses keys that nobody asked for. Also asked before a complaint that something is missing, which is
    /// usually there under a wrong name.
    fn finish(&self) -> Result<(), String> {
        let Some((key, _)) = self.given.first() else { return Ok(()) };
        Err(match nearest(key, self.asked.iter().copied()) {
            Some(meant) => format!("unknown key `{key}`, did you mean `{meant}`?"),
            None => format!("unknown key `{key}`, expected one of: {}", self.asked.join(", ")),
        })
    }
}

/// Splits at commas outside quotes.
fn split(text: &str) -> Result<Vec<String>, String> {
    let (mut parts, mut part, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    for character in text.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(character);
    }
    if quoted {
        return Err("a quote is not closed".to_owned());
    }
    parts.push(part);
    parts.retain(|part| !part.trim().is_empty());
    Ok(parts)
}

fn unquote(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return value.to_owned();
    };
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        text.push(if character == '\\' { characters.next().unwrap_or('\\') } else { character });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_of_the_catalogue_survives_a_round_trip() {
        for entry in CATALOGUE {
            let fault: Fault = entry.example.parse().unwrap();
            assert_eq!(fault.kind.name(), entry.name);
            assert_eq!(fault.to_string().parse::<Fault>().unwrap(), fault, "{}", entry.example);
        }
    }

    #[test]
    fn a_message_may_hold_commas_quotes_and_colons() {
        let text = r#"http:status=429,message="slow down, \"friend\": now""#;
        let fault: Fault = text.parse().unwrap();
        let FaultKind::Http(http) = &fault.kind else { panic!("not http: {fault:?}") };
        assert_eq!(http.message.as_deref(), Some("slow down, \"friend\": now"));
        assert_eq!(fault.to_string(), text);
    }

    #[test]
    fn mistakes_are_answered_with_what_was_expected() {
        let message = |text: &str| text.parse::<Fault>().unwrap_err().message;
        assert_eq!(message("stlal:after-event=1"), "unknown fault `stlal`, did you mean `stall`?");
        assert!(message("zebra").starts_with("unknown fault `zebra`, expected one of: http, error-event"));
        assert_eq!(message("http:status=200"), "status 200 is no error; 400 to 599 are");
        assert_eq!(message("http"), "`http` needs a `status`, such as `http:status=429`");
        assert_eq!(message("rst:after-event=x"), "`after-event` is a number, not `x`");
        assert_eq!(message("rst:after-event"), "`after-event` needs a value, as in `after-event=…`");
        assert_eq!(message("rst:before-headers=1"), "`before-headers` takes no value");
        assert_eq!(message("rst:in-event=0"), "`in-event` is 1 or more");
        assert_eq!(message("rst:after-event=1,in-char"), "one place only, please");
        assert!(message("rst").starts_with("say where: "));
        assert!(message("end:before-headers").contains("needs a place in the body"));
        assert_eq!(message("rst:before-headers,bite=1"), "unknown key `bite`, did you mean `byte`?");
        assert_eq!(message("rst:after-event=1,after-event=2"), "`after-event` is given twice");
        assert_eq!(message("http:status=429,message=\"x"), "a quote is not closed");
        assert_eq!(message("rst:before-headers,times=0"), "`times` is how often it happens: 1 or more");
        assert!(message("refuse:times=1").contains("whole server"));
        let injected = "`retry-after` is sent in a header, which has no control characters";
        assert_eq!(message("http:status=429,retry-after=\"1\r\nx: y\""), injected);
        assert!(message("huge-text:megabytes=9999").contains("at most 200"));
    }
}
