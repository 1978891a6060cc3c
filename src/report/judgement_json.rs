//! One JSON object for each judged input; `schemas/clawgate/judge.schema.json` describes it.

use serde_json::{Value, json};

use crate::judge::Judgement;
use crate::stream_json::{ResultFacts, Session, Summary};

/// The version of the object's form.
const SCHEMA_VERSION: u64 = 1;

/// The judgement of an input as `judge --format json` prints it.
///
/// It is text rather than a value because token counts may be larger than a value can hold.
pub fn judgement_json(input: &str, judgement: &Judgement) -> serde_json::Result<String> {
    let raw = |value: &dyn erased::Json| value.to_json();
    let mut object = format!(
        r#"{{"schema_version":{SCHEMA_VERSION},"input":{},"contract":{},"contract_detected":{},"verdict":{},"run":{},"findings":{},"session":{},"stream":{}"#,
        raw(&input)?,
        raw(&judgement.contract)?,
        raw(&judgement.contract_detected)?,
        raw(&judgement.verdict)?,
        raw(&judgement.run)?,
        raw(&judgement.findings)?,
        raw(&judgement.session.as_ref().map(session_json))?,
        raw(&judgement.summary.as_ref().map(stream_json))?,
    );
    if let Some((profile, summary)) = &judgement.log {
        let events = json!({
            "profile": profile.name(),
            "bytes": summary.bytes,
            "lines": summary.lines,
            "records": summary.records,
            "duplicates": summary.duplicates,
            "sessions": summary.sessions,
            "peers": summary.peers,
        });
        object.push_str(r#","events":"#);
        object.push_str(&events.to_string());
    }
    Ok(object + "}")
}

/// Serialisation behind a reference, so that the members can be listed side by side.
mod erased {
    pub(super) trait Json {
        fn to_json(&self) -> serde_json::Result<String>;
    }

    impl<T: serde::Serialize> Json for T {
        fn to_json(&self) -> serde_json::Result<String> {
            serde_json::to_string(self)
        }
    }
}

fn session_json(session: &Session) -> Value {
    let mut object = json!({
        "session_id": session.session_id,
        "model": session.model,
        "cli_version": session.cli_version,
        "inits": session.inits,
        "results": session.result_count,
        "num_turns": session.results.last().and_then(|result| result.num_turns),
        "cost_usd": session.results.iter().rev().find_map(|result| result.cost_usd),
        "usage": session.results.last().map(|result: &ResultFacts| result.usage),
        "usage_by_model": session.usage,
        "final_text": session.final_text,
        "tools": session.tools.by_name,
        "tasks": session.tasks(),
        "retries": session.retries.count,
        "denials": session.denials,
        "unknown_kinds": session.unknown_kinds,
    });
    if let Some(thinking) = &session.thinking {
        object["thinking"] = thinking.as_str().into();
    }
    object
}

fn stream_json(summary: &Summary) -> Value {
    let counts: serde_json::Map<_, _> =
        summary.tally.counts().map(|(kind, count)| (kind.name().to_owned(), count.into())).collect();
    json!({
        "bytes": summary.bytes,
        "lines": summary.lines,
        "messages": summary.messages,
        "irregularities": counts,
        "samples": summary.tally.samples(),
    })
}
