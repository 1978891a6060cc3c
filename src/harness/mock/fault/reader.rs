//! Reads the text form of faults: `name:key=value,key`.

use std::fmt::Display;
use std::str::FromStr;

use crate::harness::mock::fault::{
    CutPoint, Ending, Fault, FaultError, FaultKind, HttpFault, catalogue, parameter,
};
use crate::harness::mock::pace::Pace;
use crate::text::did_you_mean;

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        read(text).map_err(|message| FaultError { text: text.to_owned(), message })
    }
}

fn read(text: &str) -> Result<Fault, String> {
    let mut given = Parameters::parse(text)?;
    let turn = given.value("turn")?;
    let times = given.number("times")?;
    if times == Some(0) {
        return Err("`times` is how often it happens: 1 or more".to_owned());
    }
    let written_last = given.written.len();
    let kind = kind(&mut given)?;
    given.finish()?;
    if matches!(kind, FaultKind::Refuse { .. }) && (times.is_some() || turn.is_some()) {
        return Err("`refuse` is the whole server's; it takes neither `times` nor `turn`".to_owned());
    }
    given.written.rotate_left(written_last);
    let separator = if given.written.is_empty() { "" } else { ":" };
    Ok(Fault { kind, turn, times, text: format!("{}{separator}{}", given.name, given.written.join(",")) })
}

fn kind(given: &mut Parameters<'_>) -> Result<FaultKind, String> {
    Ok(match given.name {
        "http" => http(given)?,
        "error-event" => FaultKind::ErrorEvent {
            error_type: given.value_or("type", "overloaded_error")?,
            message: given.value_or("message", "Overloaded")?,
            after_event: given.number_or("after-event", 0)?,
        },
        "close" => FaultKind::Cut { ending: Ending::Close, at: cut_point(given)? },
        "rst" => FaultKind::Cut { ending: Ending::Reset, at: cut_point(given)? },
        "end" => match cut_point(given)? {
            CutPoint::BeforeHeaders | CutPoint::InHeaders => {
                return Err("`end` ends a body cleanly, so it needs a place in the body".to_owned());
            }
            at => FaultKind::Cut { ending: Ending::End, at },
        },
        "stall" => {
            let before = given.written.len();
            let for_ms = given.number("for-ms")?;
            let at = cut_point(given)?;
            // The place is written first.
            given.written[before..].rotate_left(usize::from(for_ms.is_some()));
            FaultKind::Cut { ending: Ending::Stall { for_ms }, at }
        }
        "slow" => FaultKind::Slow(Pace {
            first_byte_ms: given.number_or("first-byte-ms", 0)?,
            event_ms: given.number("event-ms")?,
            jitter_ms: given.number_or("jitter-ms", 0)?,
            bytes_per_second: given.positive("bytes-per-second")?,
        }),
        "content-type" => FaultKind::ContentType(given.header_or("value", "text/plain; charset=utf-8")?),
        "html" => FaultKind::Html(status(given)?),
        "empty" => FaultKind::Empty(status(given)?),
        "content-length" => match given.number_or("delta", 1)? {
            0 => return Err("`delta=0` is the right length; give another number".to_owned()),
            delta => FaultKind::ContentLength(delta),
        },
        "malformed-sse" => FaultKind::MalformedSse(given.positive_or("event", 1)?),
        "malformed-json" => FaultKind::MalformedJson(given.positive_or("event", 1)?),
        "invalid-utf8" => FaultKind::InvalidUtf8(given.positive_or("event", 1)?),
        "endless-pings" => FaultKind::EndlessPings {
            after_event: given.number_or("after-event", 1)?,
            every_ms: given.positive_or("every-ms", 10)?,
        },
        "huge-text" => match given.positive_or("megabytes", 50)? {
            megabytes @ 1..=200 => FaultKind::HugeText(megabytes),
            _ => return Err("`megabytes` is at most 200".to_owned()),
        },
        "refuse" => FaultKind::Refuse {
            after_requests: given.number_or("after-requests", 0)?,
            for_ms: given.number("for-ms")?,
        },
        unknown => {
            let names: Vec<_> = catalogue().into_iter().map(|(name, _)| name).collect();
            return Err(format!("unknown fault `{unknown}`{}", did_you_mean(unknown, &names)));
        }
    })
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

fn status(given: &mut Parameters<'_>) -> Result<u16, String> {
    match given.number_or("status", 200)? {
        status @ (200..=203 | 400..=599) => Ok(status),
        other => Err(format!("status {other} cannot carry it; 200 to 203 and 400 to 599 can")),
    }
}

fn cut_point(given: &mut Parameters<'_>) -> Result<CutPoint, String> {
    let mut points = Vec::new();
    for (key, point) in [
        ("before-headers", CutPoint::BeforeHeaders),
        ("in-headers", CutPoint::InHeaders),
        ("after-headers", CutPoint::AfterHeaders),
    ] {
        points.extend(given.flag(key)?.then_some(point));
    }
    points.extend(given.number("after-event")?.map(CutPoint::AfterEvent));
    let event = given.positive("in-event")?;
    let byte = given.number("byte")?;
    if event.is_none() && byte.is_some() {
        return Err("`byte` counts inside an event: give `in-event` too".to_owned());
    }
    points.extend(event.map(|event| CutPoint::InEvent { event, byte }));
    points.extend(given.positive_or_flag("in-char")?.map(CutPoint::InChar));
    points.extend(given.number("after-byte")?.map(CutPoint::AfterByte));
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
    /// What was found, in the order of asking: the full form of the fault.
    written: Vec<String>,
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
        Ok(Parameters { name: name.trim(), given, asked: Vec::new(), written: Vec::new() })
    }

    /// A key as it was typed, alone or with a value.
    fn take(&mut self, key: &'static str) -> Option<(String, Option<String>)> {
        self.asked.push(key);
        let at = self.given.iter().position(|(known, _)| known == key)?;
        Some(self.given.remove(at))
    }

    fn read<T: FromStr + Display>(&mut self, key: &'static str, what: &str) -> Result<Option<T>, String> {
        let Some((_, value)) = self.take(key) else { return Ok(None) };
        let value = value.ok_or_else(|| format!("`{key}` needs a value, as in `{key}=…`"))?;
        let read = value.parse().map_err(|_| format!("`{key}` is {what}, not `{value}`"))?;
        self.written.push(parameter(key, &read));
        Ok(Some(read))
    }

    fn or<T: Display>(&mut self, key: &'static str, found: Option<T>, default: T) -> T {
        found.unwrap_or_else(|| {
            self.written.push(parameter(key, &default));
            default
        })
    }

    fn value(&mut self, key: &'static str) -> Result<Option<String>, String> {
        self.read(key, "a text")
    }

    fn value_or(&mut self, key: &'static str, default: &str) -> Result<String, String> {
        let found = self.value(key)?;
        Ok(self.or(key, found, default.to_owned()))
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

    fn header_or(&mut self, key: &'static str, default: &str) -> Result<String, String> {
        let found = self.header(key)?;
        Ok(self.or(key, found, default.to_owned()))
    }

    fn number<T: FromStr + Display>(&mut self, key: &'static str) -> Result<Option<T>, String> {
        self.read(key, "a number")
    }

    fn number_or<T: FromStr + Display>(&mut self, key: &'static str, default: T) -> Result<T, String> {
        let found = self.number(key)?;
        Ok(self.or(key, found, default))
    }

    fn positive<T: FromStr + Display + PartialOrd + From<u8>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<T>, String> {
        match self.number::<T>(key)? {
            Some(number) if number < T::from(1) => Err(format!("`{key}` is 1 or more")),
            other => Ok(other),
        }
    }

    fn positive_or<T: FromStr + Display + PartialOrd + From<u8>>(
        &mut self,
        key: &'static str,
        default: T,
    ) -> Result<T, String> {
        let found = self.positive(key)?;
        Ok(self.or(key, found, default))
    }

    /// `key=N`, or the bare key for 1.
    fn positive_or_flag(&mut self, key: &'static str) -> Result<Option<usize>, String> {
        let bare = self.given.iter_mut().find(|(known, value)| known == key && value.is_none());
        if let Some((_, value)) = bare {
            *value = Some("1".to_owned());
        }
        self.positive(key)
    }

    fn boolean(&mut self, key: &'static str) -> Result<Option<bool>, String> {
        self.read(key, "true or false")
    }

    fn flag(&mut self, key: &'static str) -> Result<bool, String> {
        match self.take(key) {
            None => Ok(false),
            Some((_, Some(_))) => Err(format!("`{key}` takes no value")),
            Some((_, None)) => {
                self.written.push(key.to_owned());
                Ok(true)
            }
        }
    }

    /// Refuses keys that nobody asked for. Also asked before a complaint that something is missing, which is
    /// usually there under a wrong name.
    fn finish(&self) -> Result<(), String> {
        let Some((key, _)) = self.given.first() else { return Ok(()) };
        Err(format!("unknown key `{key}`{}", did_you_mean(key, &self.asked)))
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
        let catalogue = catalogue();
        assert_eq!(catalogue.len(), 17);
        for (name, example) in catalogue {
            let fault: Fault = example.parse().unwrap();
            assert_eq!(fault.name(), name);
            assert_eq!(fault.to_string().parse::<Fault>().unwrap(), fault, "{example}");
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
