//! How a run ended.

use std::fmt;

use serde_json::{Map, Value, json};

/// How much of an output came before a timer ended the run; what came after it is what the end brought about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum InTime {
    /// No timer cut the run short.
    #[default]
    All,
    /// The first bytes, so many.
    Until(u64),
    /// A timer fired, and nobody noted what had come by then.
    Unknown,
}

impl InTime {
    /// Whether what begins at this offset, and says that the run is over, came too late to count. Where nobody noted the
    /// time, an end that says nothing (`is_empty`) is taken for one that the timer brought about.
    pub(crate) fn is_late(self, offset: u64, is_empty: bool) -> bool {
        match self {
            Self::All => false,
            Self::Until(bytes) => offset >= bytes,
            Self::Unknown => is_empty,
        }
    }
}

/// How the target's process ended, as far as the harness could see.
///
/// In `recording.json`: `{"code":0}`, `{"signal":9}`, either with `"timed_out"` when a timer fired,
/// `{"timed_out":"wall"}` alone when the status is unknown, or `{"spawn_error":{…}}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exit {
    /// The exit code, when the process ended by itself.
    pub code: Option<i32>,
    /// The signal that ended the process.
    pub signal: Option<i32>,
    /// The timer of the harness that ended the run.
    pub timed_out: Option<Timer>,
    /// Why the process could not be started at all.
    pub spawn_error: Option<SpawnError>,
}

impl Exit {
    /// An ordinary exit with this code.
    pub fn with_code(code: i32) -> Self {
        Self { code: Some(code), ..Self::default() }
    }

    /// The signal that ended the target, also when a shell or a handler reported it as exit code 128 + n.
    pub fn fatal_signal(&self) -> Option<i32> {
        self.signal.or_else(|| self.code.filter(|code| (129..=159).contains(code)).map(|code| code - 128))
    }

    pub(super) fn from_value(value: &Value) -> Result<Self, String> {
        let object = value.as_object().ok_or("expected an object such as {\"code\":0}")?;
        let integer = |key: &str| match object.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(number) => number
                .as_i64()
                .and_then(|number| i32::try_from(number).ok())
                .map(Some)
                .ok_or_else(|| format!("`{key}` is {number}, expected a small integer")),
        };
        let timed_out = match object.get("timed_out") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(Timer::from_name(name)),
            Some(other) => return Err(format!("`timed_out` is {other}, expected the name of a timer")),
        };
        let spawn_error = match object.get("spawn_error") {
            None | Some(Value::Null) => None,
            Some(error) => Some(SpawnError::from_value(error)?),
        };
        let exit = Self { code: integer("code")?, signal: integer("signal")?, timed_out, spawn_error };
        if exit == Self::default() {
            return Err("says neither code, signal, timed_out nor spawn_error".into());
        }
        Ok(exit)
    }

    pub(super) fn to_value(&self) -> Value {
        let mut object = Map::new();
        if let Some(code) = self.code {
            object.insert("code".into(), code.into());
        }
        if let Some(signal) = self.signal {
            object.insert("signal".into(), signal.into());
        }
        if let Some(timer) = &self.timed_out {
            object.insert("timed_out".into(), timer.name().into());
        }
        if let Some(error) = &self.spawn_error {
            object.insert("spawn_error".into(), json!({"kind": error.kind, "message": error.message}));
        }
        Value::Object(object)
    }
}

impl fmt::Display for Exit {
    /// How it ended, in a few words: `exit code 1`, `signal 9 (SIGKILL)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(error) = &self.spawn_error {
            return write!(f, "not started: {}", error.message);
        }
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}")?,
            (None, Some(signal)) => match signal_name(signal) {
                Some(name) => write!(f, "signal {signal} ({name})")?,
                None => write!(f, "signal {signal}")?,
            },
            (None, None) => f.write_str("no exit status")?,
        }
        self.timed_out.as_ref().map_or(Ok(()), |timer| write!(f, " after the timer `{}` fired", timer.name()))
    }
}

/// The name of a signal that ends programs.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return None,
    })
}

/// A timer of the harness.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timer {
    /// The whole run took too long.
    Wall,
    /// Nothing was printed for too long after the start.
    FirstEvent,
    /// Nothing was printed for too long in the middle.
    Idle,
    /// The result was there, but the process did not exit.
    AfterResult,
    /// A timer that this version does not know.
    Unknown(String),
}

impl Timer {
    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "wall" => Self::Wall,
            "first-event" => Self::FirstEvent,
            "idle" => Self::Idle,
            "after-result" => Self::AfterResult,
            other => Self::Unknown(other.into()),
        }
    }

    /// The name in `recording.json` and in verdicts.
    pub fn name(&self) -> &str {
        match self {
            Self::Wall => "wall",
            Self::FirstEvent => "first-event",
            Self::Idle => "idle",
            Self::AfterResult => "after-result",
            Self::Unknown(name) => name,
        }
    }
}

/// Why a target could not be started.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpawnError {
    /// What failed: `not_found`, `not_executable`, `bad_cwd`, `bad_interpreter`, or another word.
    pub kind: String,
    /// The message of the operating system.
    pub message: String,
}

impl SpawnError {
    /// An error of this kind.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into() }
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let text = |key: &str| match value.get(key) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(format!("`spawn_error.{key}` is {other}, expected a string")),
        };
        if !value.is_object() {
            return Err("`spawn_error` is not an object".into());
        }
        Ok(Self { kind: text("kind")?, message: text("message")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_in_words() {
        let told = |value: Value| Exit::from_value(&value).unwrap().to_string();
        assert_eq!(told(json!({"code": 1})), "exit code 1");
        assert_eq!(told(json!({"signal": 9})), "signal 9 (SIGKILL)");
        assert_eq!(told(json!({"signal": 63})), "signal 63");
        assert_eq!(
            told(json!({"signal": 15, "timed_out": "idle"})),
            "signal 15 (SIGTERM) after the timer `idle` fired"
        );
        assert_eq!(told(json!({"timed_out": "wall"})), "no exit status after the timer `wall` fired");
        assert_eq!(told(json!({"spawn_error": {"message": "no such file"}})), "not started: no such file");
    }
}
