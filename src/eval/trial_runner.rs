//! The harness as what makes the recordings of trials.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use super::arm::Arm;
use super::conditions::{Author, Permissions};
use super::controls;
use super::examiner::{self, Exam, Examined};
use super::runner::{ExecuteError, Executor, Request};
use super::skill::Skill;
use super::spec::Spec;
use crate::harness::RecordError;
use crate::harness::mock::{Fault, Script};
use crate::harness::room::RoomFile;
use crate::run::scenario::{Case, RunPart};
use crate::run::target::{EvalPart, Flag, Located, Speaks, Target};
use crate::run::{AttemptError, ContractCache, Keep, Planned, RunContext};
use crate::schema::{ContractSet, FileError, Protocol};

/// The contract that trials are run under where the target keeps it.
const CONTRACT: &str = "claude-stream-json";
/// Where a project's settings stand.
const PROJECT_SETTINGS: &str = ".claude/settings.json";

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
    /// One for each of the evaluation's arms, the evaluated one first.
    arms: Vec<Prepared>,
    /// The settings of the project, where they are asked for.
    project_files: Vec<RoomFile>,
    api: Api,
    scratch: &'b Path,
    /// What the cases' own commands prepared.
    setups: examiner::Prepared,
}

/// An arm, ready to be run.
struct Prepared {
    name: String,
    target: Arc<Located>,
    speaks: Speaks,
    model: Option<String>,
    /// The files of its skill; none where it has no skill.
    skill_files: Vec<RoomFile>,
    author: Author,
}

/// What an arm is run with.
#[derive(Debug, Clone)]
pub(crate) struct Equipment {
    /// The target that its trials run on.
    pub target: Arc<Located>,
    /// Its version of the skill; none where it has no skill.
    pub skill: Option<Skill>,
    /// What the author's machine adds where the real API answers.
    pub author: Author,
}

/// Why trials cannot be run at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrialRunnerError {
    /// The target prints nothing that evaluations can read.
    #[error(
        "target `{0}` promises no stream that evaluations can read: {CONTRACT}, or a contract of a stream that says in \
         [outcome] what its messages mean"
    )]
    Contract(String),
    /// Its contract cannot be opened.
    #[error(transparent)]
    Broken(#[from] FileError),
    /// There is no script.
    #[error(
        "nobody answers: the evaluation brings no scripted model; name one with --script FILE, or use the real API \
         with --api real"
    )]
    NoScript,
    /// Everything is allowed only where nothing can come of it.
    #[error(
        "{0}; an evaluation allows everything, and so needs a room whose files are isolated: run it where the kernel \
         allows user namespaces, or say what is allowed with --permission-mode MODE, `acceptEdits` for instance"
    )]
    NotIsolated(String),
    /// The target has no flag for something that is asked for.
    #[error("target `{target}` has no flag for `{setting}`: its file says none in [eval]")]
    NoFlag { target: String, setting: &'static str },
    /// The skill cannot be read.
    #[error(transparent)]
    Skill(#[from] super::skill::DiscoverError),
}

impl<'b> TrialRunner<'b> {
    /// Prepares what all trials of an evaluation share.
    pub(crate) fn new(
        context: RunContext<'b>,
        spec: &'b Spec,
        equipment: &[Equipment],
        api: Api,
    ) -> Result<Self, TrialRunnerError> {
        if matches!(api, Api::Scripted) && spec.model.script.is_none() {
            return Err(TrialRunnerError::NoScript);
        }
        let prepared = |(arm, with): (&Arm, &Equipment)| prepared(spec, arm, with);
        let arms: Vec<Prepared> = spec.arms.iter().zip(equipment).map(prepared).collect::<Result<_, _>>()?;
        let mut context = context;
        // Whether another agent knew the skill is told by what it asked.
        context.keep = Keep::Bodies;
        let allows = |arm: &Prepared| Permissions::of(&spec.run, arm.flags()) == Permissions::Everything;
        if arms.iter().any(allows) {
            context.recorder.demands.files = true;
            let is_real = matches!(api, Api::Real(_));
            context
                .recorder
                .try_room(is_real)
                .map_err(|error| TrialRunnerError::NotIsolated(error.to_string()))?;
        }
        let scratch = context.recorder.out;
        Ok(Self {
            context,
            project_files: project_files(spec),
            spec,
            arms,
            api,
            scratch,
            setups: examiner::Prepared::default(),
        })
    }

    /// The arm that answers: that of the trial or, for whoever judges it, the evaluated one, so that all arms have the
    /// same judge.
    fn arm(&self, request: &Request<'_>) -> &Prepared {
        let of_trial = self.arms.iter().find(|arm| request.judge.is_none() && arm.name == request.arm.name);
        of_trial.unwrap_or(&self.arms[0])
    }

    fn planned(&self, request: &Request<'_>) -> Planned {
        let (script, faults) = self.script(request);
        let run = self.run(request);
        let case = Case::bare(request.id.to_string(), &self.arm(request).speaks.contract, run, faults);
        let mut planned = Planned::new(
            Arc::new(case),
            Arc::new(script),
            Arc::clone(&self.arm(request).target),
            self.speaks(request),
        );
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
        let is_judge_control = request.case.kind.is_judge_control();
        let rule = model.rule(request);
        let own = rule.and_then(|rule| rule.script.as_ref()).or(model.script.as_ref());
        let mut script = own.cloned().unwrap_or_default();
        if is_judge_control {
            let has_own = rule.is_some_and(|rule| rule.script.is_some());
            let turn = controls::judge_turn(request.case).filter(|_| !has_own);
            script.turns.splice(0..0, turn);
        } else if request.case.kind.is_control() {
            script.turns.extend(controls::turn());
        }
        for turn in &mut script.turns {
            // One script answers many cases; whether a turn is asked for is no finding here.
            turn.optional = true;
        }
        (script, rule.map(|rule| rule.faults.clone()).unwrap_or_default())
    }

    /// The arguments of the target's own, but for the model when another is asked for, and with the real API but for
    /// what makes scripted runs the same every time.
    fn speaks(&self, request: &Request<'_>) -> Speaks {
        let arm = self.arm(request);
        let mut speaks = arm.speaks.clone();
        if self.model(request).is_some() {
            arm.flags().model.take_from(&mut speaks.args);
        }
        // Evaluations say themselves what is allowed.
        arm.flags().allow_all.take_from(&mut speaks.args);
        if matches!(self.api, Api::Real(_)) {
            for dropped in &arm.flags().real_api.drop_args {
                if let Some(at) = speaks.args.windows(dropped.len()).position(|words| words == dropped) {
                    speaks.args.drain(at..at + dropped.len());
                }
            }
        }
        speaks
    }

    fn model(&self, request: &Request<'_>) -> Option<&String> {
        let own = self.spec.run.model.as_ref();
        if request.judge.is_some() {
            return self.spec.judge.model.as_ref().or(own);
        }
        self.arm(request).model.as_ref().or(own)
    }

    fn run(&self, request: &Request<'_>) -> RunPart {
        let settings = &self.spec.run;
        let arm = self.arm(request);
        let flags = arm.flags();
        let mut run = RunPart { prompt: Some(request.prompt.to_owned()), ..RunPart::default() };
        let mut say = |flag: &Flag, value: &str| {
            run.args.extend(flag.with(value).into_iter().flatten().map(OsString::from));
        };
        if let Some(model) = self.model(request) {
            say(&flags.model, model);
        }
        if let Some(schema) = request.judge {
            say(&flags.max_turns, "8");
            say(&flags.permission_mode, "default");
            say(&flags.answer_form, &schema.to_string());
            // What is judged may hold anything, and has no place among arguments.
            run.prompt_on_stdin = true;
        } else {
            say(&flags.max_turns, &settings.max_turns.to_string());
            match Permissions::of(settings, flags) {
                Permissions::Everything => say(&flags.allow_all, ""),
                Permissions::Mode(mode) => say(&flags.permission_mode, mode),
                Permissions::Unsaid => {}
            }
            for (flag, tools) in [
                (&flags.allowed_tools, &settings.allowed_tools),
                (&flags.disallowed_tools, &settings.disallowed_tools),
            ] {
                if !tools.is_empty() {
                    say(flag, &tools.join(","));
                }
            }
            if let Some(prompt) = &settings.system_prompt {
                say(&flags.system_prompt, prompt);
            }
            run.args.extend(settings.args.iter().map(Into::into));
            run.env.clone_from(&settings.env);
            if settings.sync_tasks {
                run.env.extend(flags.sync_tasks.iter().cloned());
            }
            run.files.extend(self.project_files.iter().cloned());
            // That there are none is told before it comes to this.
            run.files.extend(self.setups.files(&self.context.recorder, request.case).unwrap_or_default());
            if !request.case.kind.is_control() {
                run.files.extend(arm.skill_files.iter().cloned());
            }
        }
        if matches!(self.api, Api::Real(_)) {
            let given = |name: &String| run.env.iter().any(|(known, _)| known == name);
            // An empty value takes a setting away.
            let dropped = flags.real_api.drop_env.iter().filter(|name| !given(name));
            let mut author: Vec<(String, String)> =
                dropped.map(|name| (name.clone(), String::new())).collect();
            author.extend(arm.author.env.iter().filter(|(name, _)| !given(name)).cloned());
            run.env.extend(author);
            if let Some(settings) = &arm.author.settings {
                run.args.extend(
                    flags.settings.with(&settings.to_string()).into_iter().flatten().map(OsString::from),
                );
            }
        }
        let wall = settings.timeout_seconds.saturating_mul(1000);
        // A model thinks longer than a script does, and only the whole is limited.
        run.timers = [Some(wall), Some(wall), Some(wall), None];
        run
    }
}

impl Prepared {
    /// How the target is told what evaluations want of it.
    fn flags(&self) -> &EvalPart {
        &self.target.choice.target.eval
    }
}

/// The settings of the project that the evaluation file is in, for the room.
fn project_files(spec: &Spec) -> Vec<RoomFile> {
    if !spec.run.project_settings {
        return Vec::new();
    }
    let folder = std::path::absolute(spec.folder()).unwrap_or_else(|_| spec.folder().to_owned());
    let found = folder.ancestors().find(|folder| folder.join(PROJECT_SETTINGS).is_file());
    found.map(|folder| RoomFile::copy(PROJECT_SETTINGS, folder.join(PROJECT_SETTINGS))).into_iter().collect()
}

fn prepared(spec: &Spec, arm: &Arm, with: &Equipment) -> Result<Prepared, TrialRunnerError> {
    let target = &with.target.choice;
    let Some(speaks) = evaluated(&target.target)? else {
        return Err(TrialRunnerError::Contract(target.label.clone()));
    };
    let is_judge = spec.arms.first().is_some_and(|first| first.name == arm.name);
    let has_questions = |case: &super::spec::Case| !case.expectations.is_empty() || !case.sections.is_empty();
    let asked = [
        ("answer_form", is_judge && spec.cases.iter().any(has_questions), &target.target.eval.answer_form),
        ("model", arm.model.is_some() || spec.run.model.is_some(), &target.target.eval.model),
        ("permission_mode", spec.run.permission_mode.is_some(), &target.target.eval.permission_mode),
        ("allowed_tools", !spec.run.allowed_tools.is_empty(), &target.target.eval.allowed_tools),
        ("disallowed_tools", !spec.run.disallowed_tools.is_empty(), &target.target.eval.disallowed_tools),
        ("system_prompt", spec.run.system_prompt.is_some(), &target.target.eval.system_prompt),
    ];
    if let Some((setting, ..)) =
        asked.into_iter().find(|(_, is_asked, flag)| *is_asked && flag.with("").is_none())
    {
        return Err(TrialRunnerError::NoFlag { target: target.label.clone(), setting });
    }
    let skill_files = match &with.skill {
        Some(skill) => skill.staged(&spec.skill, &target.target.eval.skill.folder)?,
        None => Vec::new(),
    };
    Ok(Prepared {
        name: arm.name.clone(),
        target: Arc::clone(&with.target),
        speaks: speaks.clone(),
        model: arm.model.clone(),
        skill_files,
        author: with.author.clone(),
    })
}

/// How a target is run in evaluations: as the Claude CLI where it speaks that dialect, else by the first contract of a stream
/// that says what its messages mean.
pub(super) fn evaluated(target: &Target) -> Result<Option<&Speaks>, FileError> {
    if let Some(speaks) = target.speaking(CONTRACT) {
        return Ok(Some(speaks));
    }
    for speaks in &target.speaks {
        let own = speaks.contract_at.as_ref().map(|path| path.display().to_string());
        let set = ContractSet::open(own.as_deref().unwrap_or(&speaks.contract))?;
        if set.protocol() == Protocol::Stream && set.outcome().is_some() {
            return Ok(Some(speaks));
        }
    }
    Ok(None)
}

impl Executor for TrialRunner<'_> {
    fn execute(&self, request: &Request<'_>) -> Result<(), ExecuteError> {
        debug_assert!(request.place.starts_with(self.scratch), "recordings are made where they stay");
        if request.judge.is_none() {
            self.setups.files(&self.context.recorder, request.case).map_err(ExecuteError::Unfit)?;
        }
        // The contract is judged again when the recording is read, by the same code.
        let planned = self.planned(request);
        let mut cache = ContractCache::new();
        let contracts = cache.get(planned.speaks.contract_at.as_deref());
        let contracts = contracts.map_err(|error| ExecuteError::Harness(error.to_string()))?;
        match self.context.attempt(&planned, contracts, request.number) {
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
    fn examine(
        &self,
        case: &super::spec::Case,
        exam: &Exam,
        outputs: &Path,
        said: &str,
    ) -> Result<Examined, String> {
        let began_with = self.setups.files(&self.context.recorder, case)?;
        examiner::examine(&self.context.recorder, began_with, exam, outputs, said)
    }
}
