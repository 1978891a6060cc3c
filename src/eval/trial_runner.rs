//! The harness as what makes the recordings of trials.

use std::path::Path;
use std::sync::Arc;

use super::controls;
use super::runner::{ExecuteError, Executor, Request};
use super::skill::Skill;
use super::spec::{Input, ScriptRule, Spec};
use super::trial::Arm;
use crate::harness::RecordError;
use crate::harness::mock::{Fault, Script};
use crate::harness::room::RoomFile;
use crate::judge::Contracts;
use crate::run::scenario::{Case, RunPart};
use crate::run::target::{Located, Speaks};
use crate::run::{AttemptError, Planned, RunContext};

/// The contract that trials are run under.
const CONTRACT: &str = "claude-stream-json";

/// Where answers come from.
#[derive(Debug, Clone)]
pub(crate) enum Api {
    /// The scripted model of the evaluation.
    Scripted,
    /// The real API, with these names and values of the user's environment.
    Real(Vec<(String, String)>),
}

/// Runs trials on a target.
pub(crate) struct TrialRunner<'b> {
    context: RunContext<'b>,
    spec: &'b Spec,
    target: Arc<Located>,
    speaks: Speaks,
    skill_files: Vec<RoomFile>,
    api: Api,
    scratch: &'b Path,
}

/// Why trials cannot be run at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrialRunnerError {
    /// The target does not speak stream-json.
    #[error("target `{0}` does not promise {CONTRACT}, which evaluations read")]
    Contract(String),
    /// There is no script.
    #[error(
        "nobody answers: the evaluation brings no scripted model; name one with --script FILE, or use the real API \
         with --api real"
    )]
    NoScript,
    /// The skill cannot be read.
    #[error(transparent)]
    Skill(#[from] super::skill::DiscoverError),
}

impl<'b> TrialRunner<'b> {
    /// Prepares what all trials of an evaluation share.
    pub(crate) fn new(
        context: RunContext<'b>,
        spec: &'b Spec,
        skill: &Skill,
        target: Arc<Located>,
        api: Api,
    ) -> Result<Self, TrialRunnerError> {
        let Some(speaks) = target.choice.target.speaking(CONTRACT) else {
            return Err(TrialRunnerError::Contract(target.choice.label.clone()));
        };
        if matches!(api, Api::Scripted) && spec.model.script.is_none() {
            return Err(TrialRunnerError::NoScript);
        }
        let speaks = speaks.clone();
        let scratch = context.recorder.out;
        Ok(Self { skill_files: skill.staged(&spec.skill)?, context, spec, target, speaks, api, scratch })
    }

    fn planned(&self, request: &Request<'_>) -> Planned {
        let (script, faults) = self.script(request);
        let run = self.run(request);
        let case = Case::bare(request.id.to_string(), CONTRACT, run, faults);
        let mut planned =
            Planned::new(Arc::new(case), Arc::new(script), Arc::clone(&self.target), self.speaks(request));
        planned.place = Some(request.place.to_owned());
        planned.keep_files = request.judge.is_none();
        if let Api::Real(variables) = &self.api {
            planned.real_api = Some(variables.clone());
        }
        planned
    }

    /// What the scripted model answers in this attempt, and what goes wrong.
    fn script(&self, request: &Request<'_>) -> (Script, Vec<Fault>) {
        let model = &self.spec.model;
        let rule = model.rules.iter().find(|rule| applies(rule, request));
        let own = rule.and_then(|rule| rule.script.as_ref()).or(model.script.as_ref());
        let mut script = own.cloned().unwrap_or_default();
        if request.case.kind.is_control() {
            script.turns.extend(controls::turn());
        }
        for turn in &mut script.turns {
            // One script answers many cases; whether a turn is asked for is no finding here.
            turn.optional = true;
        }
        (script, rule.map(|rule| rule.faults.clone()).unwrap_or_default())
    }

    /// The arguments of the target's own, but for the model when another is asked for.
    fn speaks(&self, request: &Request<'_>) -> Speaks {
        let mut speaks = self.speaks.clone();
        if self.model(request).is_some()
            && let Some(at) = speaks.args.iter().position(|word| word == "--model")
        {
            speaks.args.drain(at..(at + 2).min(speaks.args.len()));
        }
        speaks
    }

    fn model(&self, request: &Request<'_>) -> Option<&String> {
        let own = self.spec.run.model.as_ref();
        if request.judge.is_some() { self.spec.judge.model.as_ref().or(own) } else { own }
    }

    fn run(&self, request: &Request<'_>) -> RunPart {
        let contexts = &self.spec.run;
        let mut run = RunPart { prompt: Some(request.prompt.to_owned()), ..RunPart::default() };
        let mut flag = |name: &str, value: &str| run.args.extend([name.into(), value.into()]);
        if let Some(model) = self.model(request) {
            flag("--model", model);
        }
        flag("--max-budget-usd", &contexts.max_cost_usd.to_string());
        if let Some(schema) = request.judge {
            flag("--max-turns", "8");
            flag("--permission-mode", "default");
            flag("--json-schema", &schema.to_string());
        } else {
            flag("--max-turns", &contexts.max_turns.to_string());
            flag("--permission-mode", &contexts.permission_mode);
            if !contexts.allowed_tools.is_empty() {
                flag("--allowedTools", &contexts.allowed_tools.join(","));
            }
            if !contexts.disallowed_tools.is_empty() {
                flag("--disallowedTools", &contexts.disallowed_tools.join(","));
            }
            if let Some(prompt) = &contexts.system_prompt {
                flag("--append-system-prompt", prompt);
            }
            run.args.extend(contexts.args.iter().map(Into::into));
            run.env.clone_from(&contexts.env);
            if contexts.sync_tasks {
                run.env.push(("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS".into(), "1".into()));
            }
            run.files.extend(request.case.files.iter().map(staged));
            if request.id.arm == Arm::WithSkill {
                run.files.extend(self.skill_files.iter().cloned());
            }
        }
        let wall = contexts.timeout_seconds.saturating_mul(1000);
        // A model thinks longer than a script does, and only the whole is limited.
        run.timers = [Some(wall), Some(wall), Some(wall), None];
        run
    }
}

fn staged(input: &Input) -> RoomFile {
    match input {
        Input::Copy { to, from } => RoomFile::copy(to.clone(), from.clone()),
        Input::Text { to, text } => RoomFile::new(to.clone(), text.clone()),
    }
}

fn applies(rule: &ScriptRule, request: &Request<'_>) -> bool {
    let id = request.id;
    rule.judge == request.judge.is_some()
        && rule.case.as_ref().is_none_or(|case| *case == id.case)
        && rule.with_skill.is_none_or(|with| with == (id.arm == Arm::WithSkill))
        && (rule.trials.is_empty() || rule.trials.contains(&u64::from(id.trial)))
        && (rule.attempts.is_empty() || rule.attempts.contains(&u64::from(request.number)))
}

impl Executor for TrialRunner<'_> {
    fn execute(&self, request: &Request<'_>) -> Result<(), ExecuteError> {
        debug_assert!(request.place.starts_with(self.scratch), "recordings are made where they stay");
        // The contract is judged again when the recording is read, by the same code.
        let contracts = Contracts::built_in();
        match self.context.attempt(&self.planned(request), &contracts, request.number) {
            Ok(attempt) if attempt.cancelled => {
                // What was cut short says nothing, and must not be found by a later run.
                _ = std::fs::remove_dir_all(&attempt.place);
                Err(ExecuteError::Stopped)
            }
            Ok(_) => Ok(()),
            Err(AttemptError::Record(RecordError::Unfit(reason))) => Err(ExecuteError::Unfit(reason)),
            Err(error) => Err(ExecuteError::Harness(error.to_string())),
        }
    }
}
