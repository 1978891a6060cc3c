//! Every cut point times every fault of one healthy script: the cases, in a fixed order, each with an id that names it.

#[cfg(feature = "cli")]
pub(crate) mod play;

#[cfg(feature = "cli")]
use serde::Serialize;

use crate::harness::mock::answer::{Answer, AnswerSeed};
#[cfg(feature = "cli")]
use crate::harness::mock::dialect::SampleRequest;
#[cfg(feature = "cli")]
use crate::harness::mock::dialect::conversation::{Call, Conversation, Returned, Said, Speaker};
use crate::harness::mock::dialect::{self, Asked, Dialect};
use crate::harness::mock::fault::{CutPoint, Fault, FaultKind};
#[cfg(feature = "cli")]
use crate::harness::mock::matcher::{Agent, Position};
#[cfg(feature = "cli")]
use crate::harness::mock::request::ApiRequest;
use crate::harness::mock::script::{Script, Turn};
use crate::text::did_you_mean;

/// The HTTP statuses that a sweep tries.
pub(crate) const STATUSES: [u16; 13] = [400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 504, 529];

/// One fault in one turn.
#[cfg(feature = "cli")]
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SweepCase {
    /// `scenario::turn::fault`; the same for the same script, whatever the machine.
    pub id: String,
    /// The turn in which it happens; none for a fault of the whole server.
    pub turn: Option<String>,
    /// The fault, with its turn: what `--fault` takes.
    #[serde(serialize_with = "as_text")]
    pub fault: Fault,
}

#[cfg(feature = "cli")]
fn as_text<S: serde::Serializer>(fault: &Fault, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(fault)
}

/// Every case of the script of a scenario, as a client of this dialect meets it.
#[cfg(feature = "cli")]
pub(crate) fn cases(scenario: &str, script: &Script, dialect: &'static dyn Dialect) -> Vec<SweepCase> {
    let mut cases = Vec::new();
    for (index, turn) in script.turns.iter().enumerate() {
        for fault in faults(turn, index, script.seed, dialect) {
            cases.push(SweepCase {
                id: format!("{scenario}::{}::{fault}", turn.name),
                turn: Some(turn.name.clone()),
                fault: fault.in_turn(&turn.name),
            });
        }
    }
    cases.extend("refuse".parse().map(|fault: Fault| SweepCase {
        id: format!("{scenario}::{fault}"),
        turn: None,
        fault,
    }));
    cases
}

/// Every place in the answers of a script, as the API of this name gives them (the Messages API without one), where the fault
/// of a name leaves an answer that is not whole, each with an id; the reason when there is none.
pub(crate) fn places(
    script: &Script,
    named: &str,
    api: Option<&str>,
) -> Result<Vec<(String, Fault)>, String> {
    let api = api.unwrap_or(dialect::ALL[0].name());
    let Some(api) = dialect::named(api) else {
        let names = dialect::ALL.map(Dialect::name);
        return Err(format!("unknown API `{api}`{}", did_you_mean(api, &names)));
    };
    let mut places = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for (index, turn) in script.turns.iter().enumerate() {
        let faults = faults(turn, index, script.seed, api);
        let last = faults.iter().filter_map(cut_after).max();
        for fault in faults {
            if !known.iter().any(|name| name == fault.name()) {
                known.push(fault.name().to_owned());
            }
            let is_whole = cut_after(&fault).is_some() && cut_after(&fault) == last;
            if fault.name() != named || is_whole {
                continue;
            }
            let text = fault.to_string();
            let place = text.split_once(':').map_or("anywhere", |(_, place)| place);
            let place = place.split(',').find(|part| part.contains("event=")).unwrap_or(place);
            let id = if script.turns.len() > 1 { format!("{}/{place}", turn.name) } else { place.to_owned() };
            places.push((id, fault.in_turn(&turn.name)));
        }
    }
    if places.is_empty() {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let hint = did_you_mean(named, &known);
        return Err(format!("no answer of the script has a place for `{named}`{hint}"));
    }
    Ok(places)
}

/// After how many whole events the answer is cut.
fn cut_after(fault: &Fault) -> Option<usize> {
    match fault.kind {
        FaultKind::Cut { at: CutPoint::AfterEvent(events), .. } => Some(events),
        _ => None,
    }
}

/// Every fault that the answer of a turn has a place for.
fn faults(turn: &Turn, index: usize, seed: u64, dialect: &dyn Dialect) -> Vec<Fault> {
    let seed = AnswerSeed { seed, entry: index as u64, earlier: 0 };
    let (body, ends) = dialect.events(&Answer::of_turn(turn, "claude", seed), Asked::PLAINLY).into_parts();
    let events = ends.len();
    let characters = body.iter().filter(|byte| **byte >= 0xC0).count();

    let in_head = ["before-headers", "in-headers"].map(str::to_owned);
    let mut in_body = vec!["after-headers".to_owned()];
    for event in 1..=events {
        in_body.push(format!("in-event={event}"));
        in_body.push(format!("after-event={event}"));
    }
    in_body.extend((1..=characters).map(|nth| format!("in-char={nth}")));

    let mut texts = Vec::new();
    for ending in ["close", "rst", "stall"] {
        texts.extend(in_head.iter().chain(&in_body).map(|place| format!("{ending}:{place}")));
    }
    // A body that ends cleanly after its last event is the healthy answer.
    let healthy = format!("after-event={events}");
    texts.extend(in_body.iter().filter(|place| **place != healthy).map(|place| format!("end:{place}")));
    texts.extend(STATUSES.map(|status| format!("http:status={status}")));
    for event in 0..events {
        texts.push(format!("error-event:after-event={event}"));
        texts.push(format!("endless-pings:after-event={event}"));
    }
    for event in 1..=events {
        texts.extend(["sse", "json"].map(|what| format!("malformed-{what}:event={event}")));
        texts.push(format!("invalid-utf8:event={event}"));
    }
    let others = ["slow:event-ms=1,jitter-ms=1", "content-type", "html", "empty", "content-length:delta=5"];
    texts.extend(others.map(str::to_owned));
    texts.extend(["content-length:delta=-5", "huge-text"].map(str::to_owned));
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

/// The request that asks for a turn, made from its conditions; none when they cannot all be met, or when another turn
/// would answer.
#[cfg(feature = "cli")]
pub(in crate::harness::mock) fn probe(
    script: &Script,
    index: usize,
    dialect: &dyn Dialect,
) -> Option<(SampleRequest, ApiRequest)> {
    let turns = &script.turns;
    let when = &turns[index].when;
    if when.auxiliary.is_some() {
        return None;
    }
    let mut sample = dialect.request(&conversation(&turns[index]));
    for (pointer, value) in &when.pointer {
        match pointer.strip_prefix('/') {
            Some(key) if !key.contains('/') => sample.body[key] = value.clone(),
            _ => *sample.body.pointer_mut(pointer)? = value.clone(),
        }
    }
    let text = sample.body.to_string();
    let request = ApiRequest::new("POST", &sample.target, sample.headers.clone(), text.as_bytes());
    let mut matching: Vec<usize> =
        (0..turns.len()).filter(|other| turns[*other].when.matches(&request)).collect();
    matching.sort_by_key(|other| std::cmp::Reverse(turns[*other].when.specificity()));
    (request.facts.stream && matching.first() == Some(&index)).then_some((sample, request))
}

/// A conversation in which a turn is the next answer.
#[cfg(feature = "cli")]
fn conversation(turn: &Turn) -> Conversation<'_> {
    let when = &turn.when;
    let position = match when.position {
        Position::At(position) => position,
        // A tool result needs a call before it.
        Position::Any | Position::Next => 1 + usize::from(when.tool_result.is_some()),
    };
    let by = |by, text| Said { by, text: vec![text], ..Said::default() };
    let mut said = vec![by(Speaker::User, when.prompt.as_deref().unwrap_or("sweep"))];
    for round in 1..position {
        let Some(condition) = when.tool_result.as_ref().filter(|_| round + 1 == position) else {
            said.extend([by(Speaker::Model, "scripted"), by(Speaker::User, "go on")]);
            continue;
        };
        let call = Call { id: "toolu_sweep", name: condition.tool.as_deref().unwrap_or("Bash") };
        let result = Returned {
            call: call.id,
            text: condition.contains.as_deref().unwrap_or_default().into(),
            is_error: condition.is_error.unwrap_or(false),
        };
        said.push(Said { by: Speaker::Model, calls: vec![call], ..Said::default() });
        said.push(Said { results: vec![result], ..Said::default() });
    }
    if let (Some(text), Some(last)) = (&when.user, said.last_mut()) {
        if last.results.is_empty() && position > 1 {
            last.text.clear();
        }
        last.text.push(text);
    }
    Conversation {
        agent: match &when.agent {
            Agent::Main | Agent::Any => None,
            Agent::Sub => Some("sweep"),
            Agent::Id(id) => Some(id),
        },
        model: when.model.as_deref().unwrap_or("claude"),
        system: when.system.iter().map(String::as_str).collect(),
        said,
        ..Conversation::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::scenario::{Scenario, library};
    use std::collections::BTreeSet;

    fn script(text: &str) -> Script {
        Scenario::parse("t.toml", &format!("scenario.name = \"t\"\n{text}")).unwrap().script
    }

    #[test]
    fn the_cases_of_a_small_script() {
        let cases = cases("t", &script("[[api.turns]]\ntext = \"é\"\nname = \"only\""), dialect::ALL[0]);
        let ids: Vec<_> = cases.iter().map(|case| case.id.as_str()).collect();
        insta::assert_snapshot!(ids.join("\n"));
    }

    #[test]
    fn every_id_is_unique_and_every_fault_can_be_typed() {
        for (name, text) in library::scripts() {
            let cases = cases(name, &Scenario::parse(name, text).unwrap().script, dialect::ALL[0]);
            let ids: BTreeSet<_> = cases.iter().map(|case| case.id.clone()).collect();
            assert_eq!(ids.len(), cases.len());
            for case in &cases {
                assert_eq!(case.fault.to_string().parse::<Fault>().unwrap(), case.fault);
            }
        }
    }

    #[test]
    fn every_turn_of_the_built_in_scenarios_can_be_asked_for() {
        for (name, text) in library::scripts() {
            let script = Scenario::parse(name, text).unwrap().script;
            for (index, turn) in script.turns.iter().enumerate() {
                assert!(probe(&script, index, dialect::ALL[0]).is_some(), "{name}: {}", turn.name);
            }
        }
    }

    #[test]
    fn a_turn_that_another_one_hides_cannot_be_asked_for() {
        let hidden = script(
            "[[api.turns]]\nwhen = { turn = 1 }\ntext = \"a\"\n[[api.turns]]\nwhen = { turn = 1 }\ntext = \"b\"",
        );
        assert!(probe(&hidden, 0, dialect::ALL[0]).is_some());
        assert!(probe(&hidden, 1, dialect::ALL[0]).is_none());
    }

    #[test]
    fn each_condition_finds_its_request() {
        let conditions = script(
            "[[api.turns]]\nwhen = { model = \"haiku\", system = \"brief\", prompt = \"p\" }\ntext = \"a\"\n\
             [[api.turns]]\nwhen = { tool_result = { tool = \"Read\", contains = \"x\", is_error = true } }\ntext = \"b\"\n\
             [[api.turns]]\nwhen = { agent = \"agent-7\", turn = 3 }\ntext = \"c\"\n\
             [[api.turns]]\nwhen = { user = \"again\", turn = 2 }\ntext = \"d\"\n\
             [[api.turns]]\nwhen = { pointer = { \"/max_tokens\" = 5, \"/messages/0/role\" = \"user\" } }\ntext = \"e\"",
        );
        for (index, turn) in conditions.turns.iter().enumerate() {
            assert!(probe(&conditions, index, dialect::ALL[0]).is_some(), "{}", turn.name);
        }
    }
}
