//! Which turns of a scripted model were used. A turn that nobody asks for is one that its author believes in and that
//! tests nothing: its condition has a slip, or the target never comes so far.

use std::collections::BTreeSet;

use serde_json::Value;

use super::runner::Request;
use super::spec::{ScriptRule, ScriptedModel};

/// Turns that are named; the rest are counted.
const MOST_NAMED: usize = 12;

impl ScriptRule {
    /// Whether it is about this attempt.
    pub(super) fn applies(&self, request: &Request<'_>) -> bool {
        let id = request.id;
        self.judge == request.judge.is_some()
            && self.case.as_ref().is_none_or(|case| *case == id.case)
            && self.arm.as_ref().is_none_or(|arm| *arm == id.arm)
            && self.with_skill.is_none_or(|with| with == request.arm.has_skill())
            && (self.trials.is_empty() || self.trials.contains(&u64::from(id.trial)))
            && (self.attempts.is_empty() || self.attempts.contains(&u64::from(request.number)))
    }
}

impl ScriptedModel {
    /// The rule that decides this attempt. What a rule says of all judgements is about trials; of a control of the judge it
    /// has to speak by its name.
    pub(super) fn rule(&self, request: &Request<'_>) -> Option<&ScriptRule> {
        let is_meant = |rule: &ScriptRule| !request.case.kind.is_judge_control() || rule.case.is_some();
        self.rules.iter().find(|rule| rule.applies(request) && is_meant(rule))
    }

    /// The turns that answered in an attempt, by the names that this evaluation gives them.
    pub(super) fn used(&self, request: &Request<'_>, served: Option<&Value>) -> impl Iterator<Item = String> {
        let origin = self.rule(request).and_then(|rule| rule.origin.clone());
        let served = served.and_then(Value::as_array).cloned().unwrap_or_default();
        served
            .into_iter()
            .filter_map(move |answer| Some(named(origin.as_deref(), answer.get("turn")?.as_str()?)))
    }

    /// What an author should know of turns that were used in no trial; none when all were.
    pub(super) fn unused(&self, used: &BTreeSet<String>) -> Option<String> {
        let own = self.script.iter().map(|script| (None, script));
        let of_rules =
            self.rules.iter().filter_map(|rule| Some((rule.origin.as_deref(), rule.script.as_ref()?)));
        let mut unused: Vec<String> = Vec::new();
        for (origin, script) in own.chain(of_rules) {
            for turn in &script.turns {
                let name = named(origin, &turn.name);
                if !used.contains(&name) && !unused.contains(&name) {
                    unused.push(name);
                }
            }
        }
        let more = unused.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        unused.truncate(MOST_NAMED);
        let turns = if unused.len() == 1 { "turn" } else { "turns" };
        (!unused.is_empty())
            .then(|| format!("{turns} of the scripted model that nobody used: {}{more}", unused.join(", ")))
    }
}

fn named(origin: Option<&str>, turn: &str) -> String {
    origin.map_or_else(|| turn.to_owned(), |origin| format!("{turn} of {origin}"))
}
