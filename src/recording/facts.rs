//! `recording.json`: the facts of a run besides its output.

use serde_json::{Map, Value};

use super::Exit;

/// The version of `recording.json` that this code writes. A reader refuses only a newer one.
pub const SCHEMA_VERSION: u64 = 1;

/// What is known of a run besides the bytes it printed.
///
/// Only `target`, `scenario` and `exit` are required; a version that is not there is not known. Fields of parts that read them themselves
/// (`requests`, `served`, `arrivals`, `files`, …), and those that this version does not know, are kept in
/// [`other`](Self::other) and written back unchanged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Facts {
    /// The target's name, such as `claude`.
    pub target: String,
    /// The target's version, such as `2.1.197`.
    pub target_version: String,
    /// The name of the scenario that was run.
    pub scenario: String,
    /// How the run ended.
    pub exit: Exit,
    /// The command line, the program first.
    pub argv: Vec<String>,
    /// Names of the environment variables that were set.
    pub env_set: Vec<String>,
    /// Values of the settings that change behaviour; never credentials.
    pub env_public: Vec<(String, String)>,
    /// How long the run took.
    pub duration_ms: Option<u64>,
    /// Every other field, in its order.
    pub other: Map<String, Value>,
}

/// Why a `recording.json` cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FactsError {
    /// The file is not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The file is JSON of another shape.
    #[error("{0}")]
    Shape(String),
    /// The file comes from a newer version.
    #[error(
        "schema_version {found} is newer than {SCHEMA_VERSION}, the newest this clawgate reads: update clawgate"
    )]
    Newer {
        /// The version that the file states.
        found: u64,
    },
}

impl Facts {
    /// Reads the text of a `recording.json`.
    pub fn parse(text: &[u8]) -> Result<Self, FactsError> {
        let value: Value = serde_json::from_slice(text)?;
        let Value::Object(mut fields) = value else {
            return Err(FactsError::Shape("expected a JSON object".into()));
        };
        match fields.shift_remove("schema_version") {
            Some(version) => match version.as_u64() {
                Some(found) if found > SCHEMA_VERSION => return Err(FactsError::Newer { found }),
                Some(_) => {}
                None => return Err(shape("schema_version", &format!("is {version}, expected an integer"))),
            },
            None => return Err(shape("schema_version", "is missing")),
        }
        Ok(Self {
            target: required_text(&mut fields, "target")?,
            target_version: match fields.get("target_version") {
                Some(_) => required_text(&mut fields, "target_version")?,
                None => String::new(),
            },
            scenario: required_text(&mut fields, "scenario")?,
            exit: match fields.shift_remove("exit") {
                Some(exit) => Exit::from_value(&exit).map_err(|reason| shape("exit", &reason))?,
                None => return Err(shape("exit", "is missing")),
            },
            argv: texts(&mut fields, "argv")?,
            env_set: texts(&mut fields, "env_set")?,
            env_public: text_pairs(&mut fields, "env_public")?,
            duration_ms: match fields.shift_remove("duration_ms") {
                None | Some(Value::Null) => None,
                Some(number) => match number.as_f64() {
                    Some(ms) if ms >= 0.0 => Some(ms as u64),
                    _ => return Err(shape("duration_ms", "is not a non-negative number")),
                },
            },
            other: fields,
        })
    }

    /// The facts as the text of a `recording.json`.
    pub fn to_value(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("schema_version".into(), SCHEMA_VERSION.into());
        fields.insert("target".into(), self.target.clone().into());
        fields.insert("target_version".into(), self.target_version.clone().into());
        fields.insert("scenario".into(), self.scenario.clone().into());
        fields.insert("argv".into(), self.argv.clone().into());
        fields.insert("env_set".into(), self.env_set.clone().into());
        if !self.env_public.is_empty() {
            let pairs = self.env_public.iter().map(|(name, value)| (name.clone(), value.clone().into()));
            fields.insert("env_public".into(), Value::Object(pairs.collect()));
        }
        fields.insert("exit".into(), self.exit.to_value());
        if let Some(duration) = self.duration_ms {
            fields.insert("duration_ms".into(), duration.into());
        }
        fields.extend(self.other.clone());
        Value::Object(fields)
    }

    /// The contract that the target promises, if the recording says so.
    pub fn contract(&self) -> Option<&str> {
        self.other.get("contract")?.as_str()
    }

    /// The public value of an environment setting.
    pub fn env(&self, name: &str) -> Option<&str> {
        self.env_public.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

fn shape(field: &str, reason: &str) -> FactsError {
    FactsError::Shape(format!("field `{field}`: {reason}"))
}

fn required_text(fields: &mut Map<String, Value>, key: &str) -> Result<String, FactsError> {
    match fields.shift_remove(key) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(shape(key, &format!("is {other}, expected a string"))),
        None => Err(shape(key, "is missing")),
    }
}

fn texts(fields: &mut Map<String, Value>, key: &str) -> Result<Vec<String>, FactsError> {
    let items = match fields.shift_remove(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(shape(key, "expected an array of strings")),
    };
    items
        .into_iter()
        .map(|item| match item {
            Value::String(text) => Ok(text),
            other => Err(shape(key, &format!("holds {other}, expected strings"))),
        })
        .collect()
}

fn text_pairs(fields: &mut Map<String, Value>, key: &str) -> Result<Vec<(String, String)>, FactsError> {
    let members = match fields.shift_remove(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(members)) => members,
        Some(_) => return Err(shape(key, "expected an object of strings")),
    };
    members
        .into_iter()
        .map(|(name, value)| match value {
            Value::String(text) => Ok((name, text)),
            other => Err(shape(key, &format!("`{name}` is {other}, expected a string"))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Timer;

    const WHOLE: &str = r#"{"schema_version":1,"target":"claude","target_version":"2.1.197","scenario":"plain",
        "argv":["claude","-p"],"env_set":["HOME"],"env_public":{"A":"1"},
        "exit":{"code":1,"timed_out":"after-result"},"duration_ms":12.5,"requests":[{"path":"/"}],"new":{"x":1}}"#;

    #[test]
    fn what_is_read_is_written_back_with_unknown_fields() {
        let facts = Facts::parse(WHOLE.as_bytes()).unwrap();
        assert_eq!(facts.exit.timed_out, Some(Timer::AfterResult));
        assert_eq!(facts.env("A"), Some("1"));
        let again = Facts::parse(facts.to_value().to_string().as_bytes()).unwrap();
        assert_eq!(again.to_value(), facts.to_value());
        assert_eq!(again.to_value()["new"]["x"], 1);
        assert_eq!(again.to_value()["requests"][0]["path"], "/");
    }

    #[test]
    fn a_damaged_or_newer_file_says_why() {
        let reason = |text: &str| Facts::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(reason("{").starts_with("not JSON: "));
        assert_eq!(reason("[]"), "expected a JSON object");
        assert_eq!(reason("{}"), "field `schema_version`: is missing");
        assert!(
            reason(&WHOLE.replace("\"schema_version\":1", "\"schema_version\":2"))
                .contains("update clawgate")
        );
        assert!(reason(&WHOLE.replace("\"claude\",\"t", "7,\"t")).contains("field `target`: is 7"));
        assert!(
            reason(&WHOLE.replace("{\"code\":1", "{\"code\":\"x\""))
                .contains("field `exit`: `code` is \"x\"")
        );
        assert!(
            reason(&WHOLE.replace("{\"code\":1,\"timed_out\":\"after-result\"}", "{}")).contains("neither")
        );
        assert!(reason(&WHOLE.replace("[\"HOME\"]", "[1]")).contains("field `env_set`: holds 1"));
    }
}
