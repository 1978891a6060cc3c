//! Values as they are written into files of the user.

use serde_json::Value;

use super::quoted;

/// A value as TOML writes it behind a key; none where it holds what TOML has not.
pub(crate) fn toml_value(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.as_i64().map(|number| number.to_string()).or_else(|| {
            let text = number.as_f64().filter(|_| number.is_f64())?.to_string();
            Some(if text.contains(['.', 'e']) { text } else { format!("{text}.0") })
        })?,
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml_value).collect::<Option<_>>()?;
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| Some(format!("{} = {}", toml_key(key), toml_value(value)?)));
            let members: Vec<String> = members.collect::<Option<_>>()?;
            if members.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", members.join(", ")) }
        }
    })
}

/// A key, quoted where it has to be.
fn toml_key(key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(is_bare) { key.to_owned() } else { quoted(key) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_back() {
        let value = json!({"a b": ["x\n\"\\\u{7f}\u{1f980}", 1, -2.5, 3.0, true, {}], "": {"c": "\u{1}"}});
        let text = toml_value(&json!({ "v": value })).unwrap();
        let read: toml::Table = toml::from_str(&format!("t = {text}")).unwrap();
        assert_eq!(serde_json::to_value(&read["t"]["v"]).unwrap(), value);
        assert_eq!(toml_value(&json!([null])), None);
        assert_eq!(toml_value(&json!(u64::MAX)), None);
    }
}
