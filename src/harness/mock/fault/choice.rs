//! Which faults each turn plays: its own, or those given from outside that select it.

use crate::harness::mock::answer::{Answer, AnswerSeed};
use crate::harness::mock::dialect::Asked;
use crate::harness::mock::fault::{Fault, FaultKind};
use crate::harness::mock::plan::cut_offset;
use crate::harness::mock::reply::{Reply, Speaks};
use crate::harness::mock::script::{Script, Turn};
use crate::text::did_you_mean;

/// The faults of each turn, as they fit its answer in this dialect. `given` take the place of the script's in the turns
/// that they select.
pub(in crate::harness::mock) fn faults_of_turns(
    script: &Script,
    given: &[Fault],
    dialect: Speaks,
) -> Result<Vec<Vec<Fault>>, String> {
    let given: Vec<&Fault> =
        given.iter().filter(|fault| !matches!(fault.kind, FaultKind::Refuse { .. })).collect();
    for fault in &given {
        let selected: Vec<_> =
            script.turns.iter().enumerate().filter(|(index, turn)| selects(fault, *index, turn)).collect();
        if selected.is_empty() {
            let wanted = fault.turn.as_deref().unwrap_or_default();
            let names: Vec<&str> = script.turns.iter().map(|turn| turn.name.as_str()).collect();
            let hint = did_you_mean(wanted, &names);
            return Err(format!("fault `{fault}`: there is no turn `{wanted}`{hint}"));
        }
        let fits = |(index, turn): &(usize, &Turn)| check_fit(fault, turn, script.seed, *index, dialect);
        if selected.iter().all(|turn| fits(turn).is_err())
            && let Some(first) = selected.first()
        {
            fits(first)?;
        }
    }
    let mut chosen = Vec::new();
    for (index, turn) in script.turns.iter().enumerate() {
        let selecting: Vec<&&Fault> = given.iter().filter(|fault| selects(fault, index, turn)).collect();
        if selecting.is_empty() {
            for fault in &turn.faults {
                check_fit(fault, turn, script.seed, index, dialect)?;
            }
            chosen.push(turn.faults.clone());
        } else {
            // A fault for every turn passes over those that have no such place.
            let fits = |fault: &&&Fault| check_fit(fault, turn, script.seed, index, dialect).is_ok();
            chosen.push(selecting.into_iter().filter(fits).map(|fault| (*fault).clone()).collect());
        }
    }
    Ok(chosen)
}

/// By name, or by its place in the file.
fn selects(fault: &Fault, index: usize, turn: &Turn) -> bool {
    fault.turn.as_ref().is_none_or(|wanted| *wanted == turn.name || *wanted == (index + 1).to_string())
}

/// A fault at a place that the answer does not have would silently be no fault.
fn check_fit(fault: &Fault, turn: &Turn, seed: u64, index: usize, dialect: Speaks) -> Result<(), String> {
    let seed = AnswerSeed { seed, entry: index as u64, earlier: 0 };
    let needs_events = match fault.kind {
        FaultKind::ErrorEvent { after_event, .. } | FaultKind::EndlessPings { after_event, .. } => {
            Some(after_event)
        }
        FaultKind::MalformedSse(event) | FaultKind::MalformedJson(event) | FaultKind::InvalidUtf8(event) => {
            Some(event)
        }
        FaultKind::Cut { .. } => None,
        _ => return Ok(()),
    };
    let answer = Answer::of_turn(turn, "claude", seed);
    let reply = Reply::stream(dialect, dialect.events(&answer, Asked::PLAINLY), seed);
    let events = reply.ends.len();
    if let Some(needed) = needs_events
        && needed > events
    {
        return Err(format!("fault `{fault}`: the answer of `{}` has {events} events", turn.name));
    }
    if let FaultKind::Cut { at, .. } = fault.kind
        && cut_offset(&reply, at).is_none()
    {
        let bytes = reply.body.len();
        return Err(format!(
            "fault `{fault}`: the answer of `{}` has no such place ({events} events, {bytes} bytes, {} characters \
             of more than one byte)",
            turn.name,
            reply.body.iter().filter(|byte| **byte >= 0xC0).count(),
        ));
    }
    Ok(())
}
