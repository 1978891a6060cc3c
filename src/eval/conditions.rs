//! What trials are run under, in words: told before the first of them, and in every report. Whoever reads a rate has to
//! know which model, which permissions and which limits it is a rate of.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::spec::{RunSettings, Spec};
use super::trial_runner::evaluated;
use crate::run::target::{EvalPart, Flag, Target};

/// One thing that trials are run under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// What it is about, such as `model`.
    pub name: String,
    /// What holds, in words.
    pub value: String,
}

/// What the author's own machine adds where the real API answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Author {
    /// Settings of the environment.
    pub env: Vec<(String, String)>,
    /// Settings of the home, as JSON.
    pub settings: Option<Value>,
}

/// What is allowed without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permissions<'s> {
    /// Everything, which needs a room whose files are isolated.
    Everything,
    /// What this mode allows, and the tools that are named.
    Mode(&'s str),
    /// Nobody says, and the target has no flag for it.
    Unsaid,
}

impl<'s> Permissions<'s> {
    pub(crate) fn of(settings: &'s RunSettings, flags: &EvalPart) -> Self {
        let everything = flags.allow_all.with("");
        let mode = settings.permission_mode.as_deref();
        match mode {
            // By its name it is the same.
            Some(mode) if everything.is_some() && flags.permission_mode.with(mode) == everything => {
                Self::Everything
            }
            Some(mode) => Self::Mode(mode),
            None if !settings.allowed_tools.is_empty() => Self::Mode("default"),
            None if everything.is_some() => Self::Everything,
            None => Self::Unsaid,
        }
    }

    fn in_words(self, settings: &RunSettings) -> String {
        let mut text = match self {
            Self::Everything => "everything is allowed, inside a room whose files are isolated".to_owned(),
            Self::Mode(mode) => format!("mode {mode}"),
            Self::Unsaid => "the target's own".to_owned(),
        };
        for (word, tools) in
            [("allowed", &settings.allowed_tools), ("taken away", &settings.disallowed_tools)]
        {
            if !tools.is_empty() {
                text = format!("{text}, {word}: {}", tools.join(", "));
            }
        }
        text
    }
}

/// What the trials of an evaluation are run under on this target; `author` where the real API answers.
pub(crate) fn conditions(spec: &Spec, target: &Target, author: Option<&Author>) -> Vec<Condition> {
    let (settings, flags) = (&spec.run, &target.eval);
    let mut all = Vec::new();
    let mut say = |name: &str, value: String| all.push(Condition { name: name.to_owned(), value });
    let is_real = author.is_some();
    say("api", if is_real { "the real one" } else { "a scripted model on loopback" }.into());
    say("model", model(spec, target, author));
    if !is_real && spec.cases.iter().any(|case| case.kind.is_judge_control()) {
        let words = "the scripted model; where no rule names its controls clawgate answers them, and they measure nothing";
        say("judge", words.into());
    }
    say("permissions", Permissions::of(settings, flags).in_words(settings));
    say("turns", limit(&flags.max_turns, settings.max_turns, "at most"));
    say("time", format!("at most {} s a trial", settings.timeout_seconds));
    say(
        "cost",
        format!("at most ${} a trial, held by clawgate and not told to the model", settings.max_cost_usd),
    );
    if let Some(author) = author {
        let names: Vec<String> = author.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut parts = names;
        parts.extend(author.settings.as_ref().map(|settings| format!("settings {settings}")));
        say("author's settings", if parts.is_empty() { "none".into() } else { parts.join(", ") });
    }
    if settings.project_settings {
        say("project's settings", "copied into the room".into());
    }
    if !settings.heuristics {
        say("heuristics", "off: a question at the end is no verdict".into());
    }
    if settings.sync_tasks {
        say("background work", "done in the foreground".into());
    }
    for (name, given) in [
        ("arguments", settings.args.join(" ")),
        ("system prompt", settings.system_prompt.clone().unwrap_or_default()),
    ] {
        if !given.is_empty() {
            say(name, given);
        }
    }
    let names: Vec<&str> = settings.env.iter().map(|(name, _)| name.as_str()).collect();
    if !names.is_empty() {
        say("environment", names.join(", "));
    }
    all
}

fn limit(flag: &Flag, value: u64, word: &str) -> String {
    match flag.with("") {
        Some(_) => format!("{word} {value}"),
        None => "the target has no flag for it".into(),
    }
}

fn model(spec: &Spec, target: &Target, author: Option<&Author>) -> String {
    if let Some(model) = &spec.run.model {
        return model.clone();
    }
    if let Some(author) = author {
        let of_env =
            author.env.iter().find(|(name, _)| name == "ANTHROPIC_MODEL").map(|(_, value)| value.clone());
        let of_file = author.settings.as_ref().and_then(|settings| settings.get("model")?.as_str());
        let found = of_env.or_else(|| of_file.map(str::to_owned));
        return found
            .map_or_else(|| "the target's own choice".into(), |model| format!("{model}, the author's"));
    }
    // A contract that cannot be opened is told when the trials are prepared.
    let speaks = evaluated(target).ok().flatten();
    let own = speaks.and_then(|speaks| target.eval.model.value_in(&speaks.args));
    own.unwrap_or_else(|| "the target's own choice".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> EvalPart {
        let (_, text) = crate::run::target::TARGETS.iter().find(|(name, _)| *name == "claude").unwrap();
        Target::parse("claude", text).unwrap().eval
    }

    #[test]
    fn everything_is_allowed_unless_somebody_says_what() {
        let flags = flags();
        let with = |mode: Option<&str>, tools: &[&str]| RunSettings {
            permission_mode: mode.map(str::to_owned),
            allowed_tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            ..RunSettings::default()
        };
        for (settings, expected) in [
            (with(None, &[]), Permissions::Everything),
            (with(Some("bypassPermissions"), &[]), Permissions::Everything),
            (with(Some("acceptEdits"), &[]), Permissions::Mode("acceptEdits")),
            (with(None, &["Bash"]), Permissions::Mode("default")),
        ] {
            assert_eq!(Permissions::of(&settings, &flags), expected);
        }
        assert_eq!(Permissions::of(&with(None, &[]), &EvalPart::default()), Permissions::Unsaid);
    }
}
