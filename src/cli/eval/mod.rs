//! `clawgate eval`: how often a skill does its job.

mod author;
mod estimate;
mod init;
mod lint;
mod reports;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::{Subcommand, ValueEnum};
use serde_json::json;

use crate::cli::cases::start;
use crate::cli::error::unwritable;
use crate::cli::eval::author::author;
use crate::cli::eval::lint::lint_skills;
use crate::cli::eval::reports::{EvalReportArg, Reports};
use crate::cli::out::share;
use crate::cli::output::typed;
use crate::cli::project::Project;
use crate::cli::typed::whole;
use crate::cli::{CommandError, Format, FormatArg};
use crate::eval::baseline::{self, BaselineError};
use crate::eval::skill::{DiscoverError, Skill, find};
use crate::eval::spec::Spec;
use crate::eval::{
    Api, Arm, ArmSkill, ArmStamp, Author, Baseline, CheckUrls, Clock as _, Equipment, Evaluation, Event,
    Iteration, Options, Report, Stamp, Store, SystemClock, Trial, TrialRunner, conditions, plan, regrade,
};
use crate::exit_code::Outcome;
use crate::report::{Evaluated, EvaluationText, Progress, write_evaluation_pages};
use crate::run::Session;
use crate::run::target::Located;
use crate::shell::shell_word;
use crate::text::split_names;

/// What reaches the real API without being named: where it is, and who asks.
const CREDENTIALS: [&str; 4] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL"];

/// Measure how often a skill does its job
///
/// Each case of an evaluation runs many times, with the skill and without, each in a fresh directory; the answer is how
/// often it passed. A rate limit, a crash or a hang is tried again and else not measured: it lowers no pass rate.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "SPEC is skill-creator's evals/evals.json, clauditor's <skill>.eval.json, a .toml file (evals/README.md), \
or a directory that holds one.\n\n\
Examples:\n  clawgate eval .claude/skills/greet --script model.toml\n  \
clawgate eval greet.toml --api real --max-total-cost-usd 2\n  \
clawgate eval greet.toml --resume\n  clawgate eval lint .claude/skills/greet\n\n\
Exit codes: 0 every threshold is reached; 100 one is not, or a regression; 2 a file or flag is wrong; 3 too little \
was measured, a control came out wrong, or a target is missing; 4 nothing was selected; 130 interrupted."
)]
#[expect(clippy::struct_excessive_bools, reason = "a command line has many switches")]
pub(super) struct EvalArgs {
    #[command(subcommand)]
    command: Option<Other>,
    /// The evaluations
    #[arg(value_name = "SPEC", required = true)]
    specs: Vec<PathBuf>,
    /// What to run on: reference, claude, claude@VERSION, or a target file [default: reference with a scripted model,
    /// claude with the real API]
    #[arg(long, value_name = "T", env = "CLAWGATE_TARGET")]
    target: Option<String>,
    /// Where answers come from
    #[arg(long, value_enum, default_value_t = ApiArg::Scripted)]
    api: ApiArg,
    /// The scripted model: a scenario file, instead of what the evaluation names
    #[arg(long, value_name = "FILE", conflicts_with = "pass_env")]
    script: Option<PathBuf>,
    /// With --api real: a variable of this environment that trials may see, besides credentials; its value is masked
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// Trials of each case, instead of what the evaluation says
    #[arg(long, short = 'n', value_name = "N", value_parser = |text: &str| whole(text, 1_u32, 1_000_000))]
    trials: Option<u32>,
    /// Try every case in another way too, and compare: NAME,skill=DIR (another version; `none` for no skill), NAME,model=M
    /// or NAME,target=T, several at once with commas between
    #[arg(long, value_name = "ARM", value_parser = Arm::parse)]
    arm: Vec<Arm>,
    /// Only with the skill, and in the arms that --arm names
    #[arg(long)]
    only_with: bool,
    /// Have the judge compare the answers of the arms too, not knowing which is which, in both orders
    #[arg(long)]
    blind: bool,
    /// Only these cases, by id; `*` stands for anything. Controls run anyway. Several times
    #[arg(long = "case", value_name = "ID")]
    cases: Vec<String>,
    /// Say what would be run, and what that takes by earlier evaluations; run nothing
    #[arg(long, conflicts_with = "resume")]
    dry_run: bool,
    /// The model, instead of what the evaluation says
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// What is allowed without asking, such as default or acceptEdits [default: everything, in a room whose files are isolated]
    #[arg(long, value_name = "MODE")]
    permission_mode: Option<String>,
    /// Tools that are allowed without asking, such as "Read,Bash(python3:*)"; nothing else is, unless --permission-mode says so
    #[arg(long, value_name = "TOOLS", value_parser = tool_names)]
    allowed_tools: Option<ToolNames>,
    /// Let the settings of the project hold in the room too (.claude/settings.json)
    #[arg(long)]
    project_settings: bool,
    /// A question at the end and lost background work are no verdicts
    #[arg(long)]
    no_heuristics: bool,
    /// How many trials run at a time [default: one for each processor]
    #[arg(long, short, value_name = "N", env = "CLAWGATE_JOBS", value_parser = |text: &str| whole(text, 1, u16::MAX))]
    jobs: Option<u16>,
    /// Begin nothing that, costing as much as the dearest so far, would bring all together above this
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_total_cost_usd: Option<f64>,
    /// The same for tokens; until one trial has shown how many it takes, one runs at a time
    #[arg(long, value_name = "N", value_parser = |text: &str| whole(text, 1_u64, u64::MAX))]
    max_total_tokens: Option<u64>,
    /// Wait no longer than this for a rate limit to end; --resume goes on later
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = crate::cli::run::seconds)]
    max_wait: Duration,
    /// Ask the addresses in outputs whether they answer, for `urls_reachable`; without it that is not measured. Needs the
    /// feature `net`, which published binaries have
    #[arg(
        long, value_name = "WHICH", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "public"
    )]
    check_urls: Option<UrlsArg>,
    /// The pass rate that each case has to reach, instead of what the evaluation says
    #[arg(long, value_name = "RATE", value_parser = part)]
    min_pass_rate: Option<f64>,
    /// Go on with the last evaluation, which was not finished
    #[arg(long)]
    resume: bool,
    /// Fail when the pass rate is lower than in this evaluation, beyond chance; one that cannot be compared is refused before
    /// the first trial
    #[arg(long, value_name = "ITERATION")]
    baseline: Option<PathBuf>,
    /// Where evaluations are kept, below the name of the skill
    #[arg(long, value_name = "DIR", default_value = "clawgate-out/eval", env = "CLAWGATE_EVAL_OUT")]
    out: PathBuf,
    #[command(flatten)]
    report: EvalReportArg,
    #[command(flatten)]
    format: FormatArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ApiArg {
    /// A scripted model on loopback: offline, the same every time
    Scripted,
    /// The real API, with the credentials of this environment; costs money
    Real,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UrlsArg {
    /// Those of the public internet: an output must not decide what is asked of the machines around this one
    Public,
    /// All of them
    Any,
}

#[derive(Debug, Subcommand)]
enum Other {
    /// Check skills against the agentskills.io specification
    #[command(
        after_help = "Exit codes: 0 no rule is broken; 100 one is; 2 a file cannot be read; 4 there is no skill."
    )]
    Lint {
        /// Skills: a directory with SKILL.md, the file itself, a command's file, or a project with .claude
        #[arg(value_name = "SKILL", default_value = ".")]
        skills: Vec<PathBuf>,
        /// Warnings fail too
        #[arg(long)]
        strict: bool,
        #[command(flatten)]
        format: FormatArg,
    },
    /// Write a first evaluation of a skill: it runs offline, and says what to change
    #[command(
        after_help = "Exit codes: 0 it is written; 2 there is no such skill, or the file is there already."
    )]
    Init {
        /// The skill: its directory, its SKILL.md, a command's file, or its name
        #[arg(value_name = "SKILL")]
        skill: PathBuf,
        /// Where it goes [default: eval.toml in the skill's directory, NAME.toml for a command]
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
    /// Grade an evaluation again from its recordings, for instance after its assertions changed; runs nothing
    Grade {
        /// The iteration's directory
        iteration: PathBuf,
        /// The evaluation file, when it is not where it was
        #[arg(long, value_name = "SPEC")]
        spec: Option<PathBuf>,
        #[command(flatten)]
        report: EvalReportArg,
        #[command(flatten)]
        format: FormatArg,
    },
}

/// Names of tools, each perhaps with a pattern in brackets.
#[derive(Debug, Clone)]
struct ToolNames(Vec<String>);

fn tool_names(text: &str) -> Result<ToolNames, String> {
    let names = split_names(text);
    if names.is_empty() {
        Err("expected names of tools, such as \"Read,Bash(git:*)\"".into())
    } else {
        Ok(ToolNames(names))
    }
}

fn part(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 1, such as 0.8".into())
}

fn dollars(text: &str) -> Result<f64, String> {
    let number = text.trim_start_matches('$').parse::<f64>().ok().filter(|number| number.is_finite());
    number.filter(|number| *number > 0.0).ok_or_else(|| "expected dollars, such as 2.50".into())
}

pub(super) fn run(args: &EvalArgs) -> Result<Outcome, CommandError> {
    match &args.command {
        Some(Other::Lint { skills, strict, format }) => lint_skills(skills, *strict, format.format),
        Some(Other::Init { skill, to }) => init::init(skill, to.as_deref()),
        Some(Other::Grade { iteration, spec, report, format }) => {
            grade_again(iteration, spec.as_deref(), report, format.format)
        }
        None => args.evaluate(),
    }
}

fn usage(error: impl std::fmt::Display) -> CommandError {
    CommandError::Usage(error.to_string())
}

fn environment(error: impl std::fmt::Display) -> CommandError {
    CommandError::Environment(error.to_string())
}

impl EvalArgs {
    fn evaluate(&self) -> Result<Outcome, CommandError> {
        if self.check_urls.is_some() && !cfg!(feature = "net") {
            return Err(usage(
                "--check-urls asks the network, for which this clawgate was not built: \
                 `cargo install clawgate --features net` makes one that can, and published binaries can",
            ));
        }
        if self.api == ApiArg::Scripted && !self.pass_env.is_empty() {
            return Err(usage("--pass-env is for trials on the real API: add --api real"));
        }
        // Every mistake in a file is found before anything runs.
        let mut evaluations = Vec::new();
        for path in &self.specs {
            let spec = self.spec(path)?;
            let skill = match &spec.skill_path {
                Some(folder) => Skill::at(folder),
                None => find(&spec.skill, spec.folder()),
            };
            let mut skills = skills(&spec, &skill.map_err(usage)?).map_err(usage)?;
            let mut answers = spec.answers();
            answers.extend(self.out.canonicalize().ok());
            for skill in skills.iter_mut().flatten() {
                skill.answers.clone_from(&answers);
            }
            evaluations.push((spec, skills));
        }
        let project = Project::open()?;
        let mut targets = Targets { project: &project, known: Vec::new() };
        let mut ready = Vec::new();
        for (mut spec, skills) in evaluations {
            let mut equipment = Vec::new();
            for (arm, skill) in spec.arms.iter_mut().zip(skills) {
                arm.is_unlisted = skill.as_ref().is_some_and(Skill::is_unlisted);
                let target = targets.located(arm.target.as_deref().unwrap_or_else(|| self.target()))?;
                let flags = &target.choice.target.eval;
                arm.signal.clone_from(&flags.skill);
                let author = if self.api == ApiArg::Real { author(flags)? } else { Author::default() };
                equipment.push(Equipment { target, skill, author });
            }
            ready.push((spec, equipment));
        }
        let (api, session) = (self.api().map_err(CommandError::Environment)?, start()?);
        if let Some(folder) = &self.baseline {
            for (spec, equipment) in &ready {
                check_baseline(folder, &self.stamp(spec, equipment, &api)?)?;
            }
        }
        if self.dry_run {
            let mut out = self.format.format.stdout();
            for (spec, equipment) in &ready {
                let stamp = self.stamp(spec, equipment, &api)?;
                let store = Store::new(&self.out, &spec.skill);
                let jobs = project.jobs(self.jobs).unwrap_or_else(|| Options::default().jobs);
                let format = self.format.format;
                estimate::tell(&mut out, format, spec, &plan(spec), &stamp, &store, jobs)?;
            }
            out.flush()?;
            return Ok(Outcome::Ok);
        }
        share(&self.out)?;
        let reports = Reports::open(&self.report, self.format.format, &self.out)?;
        let (mut outcome, mut done) = (Outcome::Ok, Vec::new());
        for (spec, equipment) in ready {
            if session.stop().is_wanted() {
                outcome.add(Outcome::Interrupted);
                break;
            }
            let one = One {
                spec: &spec,
                equipment: &equipment,
                api: &api,
                session: &session,
                jobs: project.jobs(self.jobs),
            };
            match self.evaluate_one(&one) {
                Ok(report) => {
                    outcome.add(report.conclusion.exit_code);
                    let again = self.again(&spec);
                    done.push(Evaluated::new(spec, report, again));
                }
                // One that the environment does not allow does not hide the others.
                Err(error) if Outcome::from(&error) == Outcome::Environment => outcome.add(error.told()),
                Err(error) => return Err(error),
            }
        }
        outcome.add(reports.write(&done));
        Ok(outcome)
    }

    /// The command that evaluates this alone again.
    fn again(&self, spec: &Spec) -> String {
        let mut words =
            vec!["clawgate eval".to_owned(), shell_word(&spec.path.display().to_string()).into_owned()];
        let script = self.script.as_ref().map(|path| path.display().to_string());
        let api = (self.api == ApiArg::Real).then(|| "real".to_owned());
        for (flag, value) in [("--target", self.target.clone()), ("--api", api), ("--script", script)] {
            words.extend(value.map(|value| format!("{flag} {}", shell_word(&value))));
        }
        words.join(" ")
    }

    fn target(&self) -> &str {
        let usual = if self.api == ApiArg::Real { "claude" } else { "reference" };
        self.target.as_deref().unwrap_or(usual)
    }

    fn spec(&self, path: &Path) -> Result<Spec, CommandError> {
        let mut spec = Spec::open(path).map_err(usage)?;
        if let Some(script) = &self.script {
            spec.model.use_script(script).map_err(usage)?;
        }
        if let Some(trials) = self.trials {
            spec.run.trials = trials;
        }
        if self.only_with {
            spec.only_with_skill();
        }
        if self.permission_mode.is_some() {
            spec.run.permission_mode.clone_from(&self.permission_mode);
        }
        if let Some(ToolNames(tools)) = &self.allowed_tools {
            spec.run.allowed_tools.clone_from(tools);
        }
        spec.run.project_settings |= self.project_settings;
        spec.run.heuristics &= !self.no_heuristics;
        for arm in &self.arm {
            spec.add_arm(arm.clone()).map_err(usage)?;
        }
        if let Some(model) = &self.model {
            spec.run.model = Some(model.clone());
        }
        if let Some(rate) = self.min_pass_rate {
            spec.thresholds.min_pass_rate = rate;
        }
        if !self.cases.is_empty() {
            spec.choose(&self.cases).map_err(CommandError::NothingSelected)?;
        }
        if self.blind || spec.judge.blind {
            spec.compare_blindly().map_err(usage)?;
        }
        Ok(spec)
    }

    /// Where answers come from; the error is about what the environment lacks.
    fn api(&self) -> Result<Api, String> {
        if self.api == ApiArg::Scripted {
            return Ok(Api::Scripted);
        }
        let mut variables = Vec::new();
        for name in CREDENTIALS.iter().copied().chain(self.pass_env.iter().map(String::as_str)) {
            match std::env::var(name) {
                Ok(value) => variables.push((name.to_owned(), value)),
                Err(_) if CREDENTIALS.contains(&name) => {}
                Err(_) => return Err(format!("--pass-env {name}: there is no such variable")),
            }
        }
        let has_credentials = variables.iter().any(|(name, _)| CREDENTIALS[..3].contains(&name.as_str()));
        if !has_credentials && self.pass_env.is_empty() {
            return Err(format!(
                "--api real needs one of {} in the environment",
                CREDENTIALS[..3].join(", ")
            ));
        }
        Ok(Api::Real(variables))
    }

    fn evaluate_one(&self, one: &One<'_>) -> Result<Report, CommandError> {
        let store = Store::new(&self.out, &one.spec.skill);
        let stamp = self.stamp(one.spec, one.equipment, one.api)?;
        let series = plan(one.spec);
        let iteration = if self.resume {
            store.resume(&stamp).map_err(usage)?
        } else {
            store.begin(stamp, &series, SystemClock.now_ms()).map_err(environment)?
        };
        // Absolute: what a target is started with does not depend on where we stand.
        let folder = std::path::absolute(&iteration.folder).unwrap_or_else(|_| iteration.folder.clone());
        let context = one.session.context(&iteration.folder);
        let runner = TrialRunner::new(context, one.spec, one.equipment, one.api.clone());
        let runner = runner.inspect_err(|_| {
            // Nothing was run, so nothing is kept.
            _ = std::fs::remove_dir_all(&folder);
        })?;
        let mut options = Options::default();
        options.jobs = one.jobs.unwrap_or(options.jobs);
        options.max_total_cost_usd = self.max_total_cost_usd;
        options.max_total_tokens = self.max_total_tokens;
        options.check_urls = match self.check_urls {
            None => CheckUrls::None,
            Some(UrlsArg::Public) => CheckUrls::Public,
            Some(UrlsArg::Any) => CheckUrls::Any,
        };
        options.max_wait_ms = u64::try_from(self.max_wait.as_millis()).unwrap_or(u64::MAX);
        let evaluation = Evaluation {
            spec: one.spec,
            store: &store,
            iteration: &iteration,
            executor: &runner,
            clock: &SystemClock,
            options: &options,
            stop: one.session.stop(),
            baseline: self.baseline.as_deref().map_or(Baseline::Previous, Baseline::Iteration),
        };
        let mut reporter = Reporter::new(self.format.format, EvaluationText::new(&options, &store));
        let mut page = Ok(());
        let report = evaluation.run(&mut |event| {
            if let Event::Finished(report) = event {
                page = write_evaluation_pages(&store, &iteration, report, &series);
            }
            reporter.hear(event);
        });
        reporter.finish()?;
        let report = report.map_err(environment)?;
        page.map_err(unwritable(&iteration.folder.join("report.html")))?;
        Ok(report)
    }

    fn stamp(&self, spec: &Spec, equipment: &[Equipment], api: &Api) -> Result<Stamp, CommandError> {
        let script_digest = match api {
            Api::Scripted => spec.model.digest.clone(),
            Api::Real(_) => None,
        };
        let mut settings = serde_json::to_value(&spec.run)?;
        if let Some(chosen) = &spec.chosen {
            settings["cases"] = json!(chosen);
        }
        let evaluated = equipment.first();
        let author = evaluated.map(|with| &with.author).filter(|_| matches!(api, Api::Real(_)));
        if let Some(author) = author {
            settings["author"] = json!({"env": author.env, "settings": author.settings});
        }
        let mut arms = Vec::new();
        for (arm, with) in spec.arms.iter().zip(equipment) {
            arms.push(ArmStamp {
                skill_digest: with.skill.as_ref().map(Skill::digest).transpose().map_err(usage)?,
                run_on: arm.target.clone().unwrap_or_else(|| self.target().to_owned()),
                version: version_of(&with.target),
                arm: arm.clone(),
            });
        }
        let mut stamp = Stamp::new(spec, arms, script_digest, settings);
        stamp.conditions =
            evaluated.map(|with| conditions(spec, &with.target.choice.target, author)).unwrap_or_default();
        Ok(stamp)
    }
}

/// Refuses a baseline that nothing can be compared with.
fn check_baseline(folder: &Path, stamp: &Stamp) -> Result<(), CommandError> {
    baseline::check(folder, stamp).map_err(|error| match error {
        BaselineError::Unlike { .. } => environment(error),
        _ => usage(error),
    })
}

/// The version that a target claims to be, or else says when it is asked.
fn version_of(located: &Located) -> String {
    let claimed = located.choice.target.speaks.iter().find_map(|speaks| speaks.version.clone());
    claimed.unwrap_or_else(|| located.version.clone())
}

/// The version of the skill for each arm of an evaluation.
fn skills(spec: &Spec, evaluated: &Skill) -> Result<Vec<Option<Skill>>, DiscoverError> {
    let skill = |arm: &Arm| match &arm.skill {
        ArmSkill::Evaluated => Ok(Some(evaluated.clone())),
        ArmSkill::Described(text) => Ok(Some(Skill { description: Some(text.clone()), ..evaluated.clone() })),
        ArmSkill::At(folder) => Skill::at(folder).map(Some),
        ArmSkill::None => Ok(None),
    };
    spec.arms.iter().map(skill).collect()
}

/// The targets that arms run on, each looked for once.
struct Targets<'p> {
    project: &'p Project,
    known: Vec<(String, Arc<Located>)>,
}

impl Targets<'_> {
    fn located(&mut self, name: &str) -> Result<Arc<Located>, CommandError> {
        if let Some((_, located)) = self.known.iter().find(|(known, _)| known == name) {
            return Ok(Arc::clone(located));
        }
        let located = Arc::new(self.project.locate(name)?);
        self.known.push((name.to_owned(), Arc::clone(&located)));
        Ok(located)
    }
}

/// One evaluation and what it is run with.
struct One<'o> {
    spec: &'o Spec,
    /// What each of its arms is run with.
    equipment: &'o [Equipment],
    api: &'o Api,
    session: &'o Session,
    jobs: Option<usize>,
}

/// Passes events on, and remembers when that fails.
struct Reporter<'r> {
    format: Format,
    progress: Progress,
    pace: Arc<Mutex<Pace>>,
    text: EvaluationText<'r>,
    error: Option<io::Error>,
}

/// How fast an evaluation goes, and what it has cost.
#[derive(Default)]
struct Pace {
    began: Option<Instant>,
    done: usize,
    left: usize,
    spent_usd: f64,
}

impl Pace {
    fn step(&mut self, cost_usd: f64) {
        self.spent_usd += cost_usd;
        // Trials of an earlier run are told before this one begins.
        if self.left > 0 {
            (self.done, self.left) = (self.done + 1, self.left - 1);
        }
    }

    fn words(&self, now: Instant) -> String {
        let mut words = Vec::new();
        if self.spent_usd > 0.0 {
            words.push(format!("${:.4}", self.spent_usd));
        }
        if let Some(began) = self.began.filter(|_| self.done > 0 && self.left > 0) {
            let each = now.saturating_duration_since(began).as_secs_f64() / self.done as f64;
            words.push(format!("about {} left", estimate::words(each * self.left as f64)));
        }
        words.join(" · ")
    }
}

impl<'r> Reporter<'r> {
    fn new(format: Format, text: EvaluationText<'r>) -> Self {
        Self { format, progress: Progress::start(true, 0), pace: Arc::default(), text, error: None }
    }

    fn hear(&mut self, event: &Event<'_>) {
        self.advance(event);
        if self.error.is_some() {
            return;
        }
        let (format, text) = (self.format, &mut self.text);
        self.error = self
            .progress
            .aside(|| {
                let mut out = format.stdout();
                match format {
                    Format::Human => text.event(&mut out, event)?,
                    Format::Json => write_json(&mut out, event)?,
                }
                out.flush()
            })
            .err();
    }

    /// Shows how far it is and what it cost so far.
    fn advance(&self, event: &Event<'_>) {
        match event {
            Event::Started { trials, finished, .. } => {
                let left = usize::try_from(trials.saturating_sub(*finished)).unwrap_or(usize::MAX);
                self.progress.of(left);
                let pace = Arc::clone(&self.pace);
                *pace.lock().unwrap_or_else(PoisonError::into_inner) =
                    Pace { left, began: Some(Instant::now()), ..Pace::default() };
                self.progress
                    .note(move || pace.lock().unwrap_or_else(PoisonError::into_inner).words(Instant::now()));
            }
            Event::TrialStarted(id) => self.progress.begin(&id.to_string()),
            Event::TrialFinished(trial) => {
                self.pace.lock().unwrap_or_else(PoisonError::into_inner).step(trial.spent.cost_usd);
                self.progress.end(&trial.id.to_string(), false);
            }
            Event::Waiting(_) | Event::Finished(_) => {}
        }
    }

    fn finish(self) -> io::Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}

fn write_json(out: &mut dyn Write, event: &Event<'_>) -> io::Result<()> {
    let value = match event {
        Event::Started { iteration, trials, finished } => json!({
            "type": "eval-started", "schema_version": 1, "skill": iteration.stamp.skill,
            "iteration": iteration.folder, "trials": trials, "finished": finished,
            "conditions": iteration.stamp.conditions,
        }),
        Event::TrialFinished(trial) => typed("trial-finished", trial)?,
        Event::Finished(report) => typed("eval-finished", report)?,
        Event::TrialStarted(_) | Event::Waiting(_) => return Ok(()),
    };
    writeln!(out, "{value}")
}

fn grade_again(
    folder: &Path,
    spec: Option<&Path>,
    wishes: &EvalReportArg,
    format: Format,
) -> Result<Outcome, CommandError> {
    let iteration = Iteration::open(folder).map_err(usage)?;
    let path = spec.map_or_else(|| PathBuf::from(&iteration.stamp.spec), Path::to_owned);
    let mut spec = Spec::open(&path).map_err(usage)?;
    // As many trials as there are, whatever the file says.
    iteration.restore(&mut spec).map_err(usage)?;
    let reports = Reports::open(wishes, format, folder)?;
    let options = Options::default();
    let parent = folder.parent().unwrap_or(Path::new(""));
    let store = Store::new(parent.parent().unwrap_or(Path::new("")), &iteration.stamp.skill);
    let mut reporter = Reporter::new(format, EvaluationText::new(&options, &store));
    let report: Result<Report, _> =
        regrade(&spec, &iteration, &mut |trial: &Trial| reporter.hear(&Event::TrialFinished(trial)));
    let report = report.map_err(usage)?;
    reporter.hear(&Event::Finished(&report));
    reporter.finish()?;
    let mut outcome = Outcome::from(report.conclusion.exit_code);
    let again = format!("clawgate eval grade {}", shell_word(&folder.display().to_string()));
    outcome.add(reports.write(&[Evaluated::new(spec, report, again)]));
    Ok(outcome)
}
