//! Changes that mean nothing: another spelling of the same values, and what a newer program may add.

use std::fmt::Write as _;

use clawgate::internals::schema::Sample;
use serde_json::{Map, Value, json};

/// Every benign change to a run that prints JSON.
pub(crate) fn changes(base: &Sample) -> Vec<(&'static str, Sample)> {
    let text = String::from_utf8(base.stdout.clone()).unwrap();
    let is_stream = base.argv.iter().flatten().any(|argument| argument == "stream-json");
    let is_json = base.argv.iter().flatten().any(|argument| argument == "json");
    if !is_stream && !is_json {
        return Vec::new();
    }
    let values: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let with =
        |write: &dyn Fn(&Value) -> String| values.iter().map(|value| write(value) + "\n").collect::<String>();
    let mut outputs = vec![
        ("members in another order", with(&|value| reversed(value).to_string())),
        ("white space between tokens", with(&spaced)),
        ("escapes for characters", with(&|value| escaped(&value.to_string()))),
        ("a field that nobody knows", with(&|value| extended(value).to_string())),
        ("another spelling of costs", with(&|value| respelled(&value.to_string()))),
    ];
    if is_stream {
        outputs.push(("blank lines", text.replace('\n', "\n\n")));
        let session = &values[0]["session_id"];
        let news = json!({"type": "weather_report", "sky": "blue", "session_id": session, "uuid": "99999999-9999-4999-8999-000000000001"});
        let notice = json!({"type": "system", "subtype": "weather", "session_id": session, "uuid": "99999999-9999-4999-8999-000000000002"});
        let (first, rest) = text.split_once('\n').unwrap();
        outputs.push(("messages that nobody knows", format!("{first}\n{news}\n{notice}\n{rest}")));
    } else {
        outputs.push(("white space around the document", format!(" \n{}  \n\n", text.trim_end())));
    }
    let sample = |stdout: String| {
        let mut sample = base.clone();
        sample.stdout = stdout.into_bytes();
        // The times at which bytes arrived belong to the bytes that were there.
        sample.recorded.remove("arrivals");
        sample
    };
    outputs.into_iter().map(|(what, stdout)| (what, sample(stdout))).collect()
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .rev()
            .map(|(name, inner)| (name.clone(), reversed(inner)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(list) => list.iter().map(reversed).collect(),
        other => other.clone(),
    }
}

/// One line with a space around each token.
fn spaced(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let inner = members.iter().map(|(name, inner)| format!("{} : {}", json!(name), spaced(inner)));
            format!("{{ {} }}", inner.collect::<Vec<_>>().join(" ,\t"))
        }
        Value::Array(list) => format!("[ {} ]", list.iter().map(spaced).collect::<Vec<_>>().join(" , ")),
        other => other.to_string(),
    }
}

/// The same text with every character beyond ASCII, and every slash, as an escape.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '/' => out.push_str("\\/"),
            letter if letter.is_ascii() => out.push(letter),
            letter => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    write!(out, "\\u{unit:04x}").unwrap();
                }
            }
        }
    }
    out
}

fn extended(value: &Value) -> Value {
    let mut value = value.clone();
    let add = |message: &mut Value| {
        if let Some(members) = message.as_object_mut() {
            members.insert("weather".into(), json!({"sky": "blue", "degrees": 21.5}));
        }
    };
    match &mut value {
        Value::Array(list) => list.iter_mut().for_each(add),
        message => add(message),
    }
    value
}

/// Costs with an exponent instead of a point.
fn respelled(text: &str) -> String {
    let mut out = text.to_string();
    for name in ["total_cost_usd", "costUSD"] {
        let mut from = 0;
        let key = format!("\"{name}\":");
        while let Some(at) = out[from..].find(&key) {
            let start = from + at + key.len();
            let end = start + out[start..].find([',', '}']).unwrap();
            let cost: f64 = out[start..end].parse().unwrap();
            out.replace_range(start..end, &format!("{cost:e}"));
            from = start;
        }
    }
    out
}
