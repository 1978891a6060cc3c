//! `clawgate run`: scenarios on targets, recorded and judged.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::json;

use super::cases::{JobsArg, start};
use super::fail_on::{FailOn, FailOnArg};
use super::golden::advice::SnapshotAdvice;
use super::golden::flag::{lost_cases, tell_summary, unreadable_snapshot};
use super::known_failures::{KnownFailuresArgs, KnownFailuresFile};
use super::out::OutFolder;
use super::output::{note, tell};
use super::project::{OUT, Project};
use super::reports::ReportArgs;
use super::typed::whole;
use super::{CommandError, Format, complain};
use crate::classify::Class;
use crate::config::{self, Profile};
use crate::exit_code::Outcome;
use crate::harness::supervise::{Demands, NetworkMode};
use crate::report::{Context, Progress, Timings};
use crate::run::target::Located;
use crate::run::{
    Event, Golden, Keep, LastRun, PlanInfo, Planned, RunOptions, Scope, Shard, Suite, Touched, contracts_of,
    cut, idle_filter, left_out, plan, repeated, run as run_cases, select,
};
use crate::schema;
use crate::text::{nearest, printable, trouble};
use crate::time;

/// Run scenarios on targets, record what happens, and judge it
///
/// Without a target the whole built-in suite runs on `reference`, an agent command line inside clawgate.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "Exit codes: 0 every case is as expected; 100 a case is not; 2 a scenario, target file or flag \
is wrong; 3 a target is missing or the harness failed; 4 nothing was selected; 130 interrupted."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own that a user types")]
pub(super) struct RunArgs {
    /// Which cases: a name or its beginning, a glob, a tag, a contract, a clause, or a scenario file
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// What to run on: reference, reference+MISBEHAVIOUR, claude, claude@VERSION, claw=PATH, or a target file
    /// [default: reference]
    #[arg(long, value_name = "T", env = "CLAWGATE_TARGET", value_delimiter = ',')]
    target: Vec<String>,
    /// List the cases and stop
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    jobs: JobsArg,
    /// Only part K of N, the same cases each time; CI systems and clusters may say it in the environment
    #[arg(long, value_name = "K/N", help_heading = "Scale-out")]
    shard: Option<Shard>,
    /// Cut parts that take equally long, by the last-run.json of an earlier run
    #[arg(long, value_name = "FILE", env = "CLAWGATE_DURATIONS", help_heading = "Scale-out")]
    durations: Option<PathBuf>,
    /// The most that a case may take, instead of what its target says
    #[arg(long, value_name = "SECONDS", env = "CLAWGATE_TIMEOUT", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Try a case that failed so many times again; one that then passes is flaky [default: 0]
    #[arg(long, value_name = "N", env = "CLAWGATE_RETRIES", value_parser = |text: &str| whole(text, 0, u32::MAX))]
    retries: Option<u32>,
    /// Run each case so many times [default: 1]
    #[arg(long, value_name = "N", env = "CLAWGATE_REPEAT", value_parser = |text: &str| whole(text, 1, u32::MAX))]
    repeat: Option<u32>,
    /// Only what failed the last time
    #[arg(long, value_enum, value_name = "WHICH")]
    rerun: Option<Rerun>,
    /// Only what the changes since a commit touch: their scenarios, targets and contracts; any other file but
    /// documentation touches everything
    #[arg(long, value_name = "REF")]
    since: Option<String>,
    /// Only what is touched by what is not committed yet: the same as --since HEAD
    #[arg(long, conflicts_with = "since")]
    changed: bool,
    /// Stop at the first failure
    #[arg(long)]
    fail_fast: bool,
    #[command(flatten)]
    fail_on: FailOnArg,
    #[command(flatten)]
    known: KnownFailuresArgs,
    #[command(flatten)]
    golden: super::golden::flag::GoldenArgs,
    /// Where recordings go [default: clawgate-out]
    #[arg(long, value_name = "DIR", env = "CLAWGATE_OUT")]
    out: Option<PathBuf>,
    /// Which recordings stay there [default: all]
    #[arg(long, value_enum, value_name = "WHICH", env = "CLAWGATE_KEEP")]
    keep: Option<KeepArg>,
    /// Whether targets are kept away from every network but the scripted API [default: auto]
    #[arg(long, value_enum, env = "CLAWGATE_NETWORK")]
    network: Option<Network>,
    /// Whether a target must be kept apart from network, files and processes of the machine [default: auto]
    #[arg(long, value_enum, env = "CLAWGATE_ISOLATION")]
    isolation: Option<IsolationArg>,
    /// The profile of clawgate.toml that says what flags and variables do not
    #[arg(long, short = 'P', value_name = "NAME", default_value = config::DEFAULT, env = "CLAWGATE_PROFILE")]
    profile: String,
    /// Show afterwards what the time of each case went to: until the first request, the answers, the end, the verdict
    #[arg(long)]
    timings: bool,
    #[command(flatten)]
    reports: ReportArgs,
    /// How much a target may write, by the profile.
    #[arg(skip)]
    disk_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rerun {
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KeepArg {
    /// All of them; those of cases that passed without the bodies of requests
    All,
    /// All of them, with the bodies of requests
    Bodies,
    /// Only those of attempts that failed, with the bodies of requests
    Failed,
    /// None: reports then have no transcripts
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum IsolationArg {
    /// Where the kernel allows it; what it does not allow is said
    Auto,
    /// Always: exit 3 where the kernel does not allow all of it
    Require,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Network {
    /// Where the kernel allows it; recordings say when it does not
    Auto,
    /// Always: exit 3 where the kernel does not allow it
    Require,
    /// Never
    Off,
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "expected seconds as a number without a unit, such as 30 or 0.5".into())
}

/// Runs the command.
pub(super) fn run(args: &RunArgs) -> Result<Outcome, CommandError> {
    let project = Project::with_profile(&args.profile)?;
    let mut settled = args.clone();
    settled.settle(&project.profile)?;
    settled.run(&project)
}

impl RunArgs {
    /// Fills in what the user did not say: from the profile, else the defaults.
    fn settle(&mut self, profile: &Profile) -> Result<(), CommandError> {
        let profile = profile.clone();
        let wrong = |reason: String| CommandError::Usage(format!("{}: {reason}", config::FILE));
        if self.target.is_empty() {
            self.target = profile.target.unwrap_or_else(|| vec!["reference".to_owned()]);
        }
        if self.filters.is_empty() {
            self.filters = profile.cases.unwrap_or_default();
        }
        self.timeout = self.timeout.or(profile.timeout.and_then(|s| Duration::try_from_secs_f64(s).ok()));
        self.retries = self.retries.or(profile.retries.and_then(|count| u32::try_from(count).ok()));
        self.repeat = self.repeat.or(profile.repeat.and_then(|count| u32::try_from(count).ok()));
        self.fail_fast |= profile.fail_fast.unwrap_or(false);
        let fail_on =
            profile.fail_on.map(|word| FailOn::from_str(&word, false)).transpose().map_err(wrong)?;
        self.fail_on.fail_on = self.fail_on.fail_on.or(fail_on);
        let network =
            profile.network.map(|word| Network::from_str(&word, false)).transpose().map_err(wrong)?;
        self.network = self.network.or(network);
        let isolation =
            profile.isolation.map(|word| IsolationArg::from_str(&word, false)).transpose().map_err(wrong)?;
        self.isolation = self.isolation.or(isolation);
        self.disk_bytes = profile.disk_bytes;
        let keep = profile.keep.map(|word| KeepArg::from_str(&word, false)).transpose().map_err(wrong)?;
        self.keep = self.keep.or(keep);
        let list = self.known.known_failures.take().or(profile.known_failures.map(PathBuf::from));
        self.known.known_failures = list;
        self.out = self.out.take().or(profile.out.map(PathBuf::from));
        self.durations = self.durations.take().or(profile.durations.map(PathBuf::from));
        self.reports.settle(profile.report).map_err(wrong)
    }

    fn out(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new(OUT))
    }

    fn run(&self, project: &Project) -> Result<Outcome, CommandError> {
        let args = self;
        let (suite, filters) = args.suite(project)?;
        let targets =
            args.target.iter().map(|typed| Ok(Arc::new(project.locate_apart(typed, args.demands())?)));
        let targets = targets.collect::<Result<Vec<_>, CommandError>>()?;
        let mut last = LastRun::read(args.out());
        let known = args.known.open(&targets)?;
        let planned = plan(&suite, &targets);
        // Whoever names a file leaves out the cases of all others.
        let is_whole = filters.len() == args.filters.len();
        let mut scope = Scope::of(&planned, is_whole.then_some(&suite));
        let none = |message: String| Err(CommandError::NothingSelected(message));
        if let Some(complaint) = mistyped_contract(&suite, &targets) {
            return Err(CommandError::Usage(complaint));
        }
        if let Some(complaint) = mistyped_clause(&planned, &targets)? {
            return Err(CommandError::Usage(complaint));
        }
        if let Some(complaint) = unanswered(&planned) {
            return Err(CommandError::Usage(complaint));
        }
        if args.out().exists() && !args.out().is_dir() {
            let message = format!("--out {}: is a file, and a directory is expected", args.out().display());
            return Err(CommandError::Usage(message));
        }
        if let Some(file) = args.idle_file(&planned) {
            let on = args.target.join(", ");
            return none(format!("{file}: no case of it runs on {on}, which promises other contracts"));
        }
        if let Some(filter) = idle_filter(&planned, &filters) {
            return Err(no_scenario(filter)
                .unwrap_or_else(|| CommandError::NothingSelected(args.no_case(filter, &suite))));
        }
        let mut planned = select(planned, &filters);
        if args.rerun == Some(Rerun::Failed) {
            if !last.is_known() {
                return none(format!(
                    "there is no last run in {}: run without --rerun first, or name its --out",
                    args.out().display()
                ));
            }
            planned.retain(|case| last.failed(&case.key()));
        }
        if let Some(reference) = args.since() {
            let context = Context::new(std::env::current_dir()?);
            let in_repository = |path: &str| context.in_repository(path);
            let touched = Touched::since(reference, &project.scenarios(), &in_repository);
            let touched = touched.map_err(CommandError::Usage)?;
            planned.retain(|case| touched.concerns(case));
        }
        if planned.is_empty() {
            return none(args.nothing());
        }
        scope.select(&planned);
        let (planned, whole) = args.part(repeated(planned, args.repeat.unwrap_or(1)))?;
        scope.cut(&planned);
        if args.list {
            return list(&planned, args.reports.format());
        }
        for target in &targets {
            tell_left_out(&suite, target);
        }
        let golden = args.golden.options(&targets)?;
        let snapshots = match &golden {
            // A scenario file alone says nothing about the cases of the others.
            Some(_) if is_whole => lost_cases(&args.golden, &suite, &targets)?,
            _ => Vec::new(),
        };
        let golden = golden.map(|options| Golden::start(options, &planned)).transpose();
        let golden = golden.map_err(|error| unreadable_snapshot(&error))?;
        let mut options = RunOptions::default();
        options.jobs = project.jobs(args.jobs.jobs).unwrap_or(options.jobs);
        (options.plan, options.scope, options.snapshots) = (whole, scope, snapshots);
        args.perform(planned, options, golden, known.as_ref(), &mut last, project)
    }

    /// The first file that was named and of which nothing runs.
    fn idle_file(&self, planned: &[Planned]) -> Option<&str> {
        let runs = |file: &str| {
            planned.iter().any(|case| case.case.source.as_ref().is_some_and(|source| source.file == file))
        };
        let named = self.filters.iter().map(String::as_str).filter(|filter| is_file(filter));
        named.into_iter().find(|file| !runs(file))
    }

    /// The scenarios, and the filters that are no files.
    fn suite(&self, project: &Project) -> Result<(Suite, Vec<String>), CommandError> {
        let (files, filters): (Vec<String>, Vec<String>) =
            self.filters.iter().cloned().partition(|filter| is_file(filter));
        // Whoever names files wants what is in them.
        let mut suite = if files.is_empty() { project.suite()? } else { Suite::default() };
        for file in &files {
            if !Path::new(file).exists() {
                let reason =
                    "there is no such file; what ends in .toml is a scenario file, anything else a filter";
                return Err(CommandError::Usage(format!("{file}: {reason}")));
            }
            suite.add_path(Path::new(file))?;
        }
        Ok((suite, filters))
    }

    /// The commit since which changes count.
    fn since(&self) -> Option<&str> {
        self.since.as_deref().or(self.changed.then_some("HEAD"))
    }

    /// What to say when nothing is left.
    fn nothing(&self) -> String {
        if self.rerun.is_some() {
            return "nothing failed the last time".into();
        }
        if let Some(reference) = self.since() {
            return format!("no case is touched by the changes since {reference}");
        }
        "no case is selected (clawgate run --list shows all)".into()
    }

    /// What to say of a filter that selects nothing.
    fn no_case(&self, filter: &str, suite: &Suite) -> String {
        // A name, or the beginning of one.
        let beginnings = suite.cases().iter().flat_map(|(case, _)| {
            let ends = case.name.match_indices('/').map(|(at, _)| at).chain([case.name.len()]);
            ends.map(|end| &case.name[..end])
        });
        let on = self.target.join(", ");
        match nearest(filter, beginnings) {
            Some(name) => {
                format!(
                    "no case on {on} is selected by `{filter}`; did you mean `{name}`? (--list shows all)"
                )
            }
            None => format!("no case on {on} is selected by `{filter}` (clawgate run --list shows all)"),
        }
    }

    /// The cases of this machine's part. A part without a case is still a part: the others have them.
    fn part(&self, planned: Vec<Planned>) -> Result<(Vec<Planned>, PlanInfo), CommandError> {
        let shard = match self.shard {
            Some(shard) => shard,
            None => Shard::from_environment(|name| std::env::var(name).ok())
                .map_err(CommandError::Usage)?
                .unwrap_or(Shard::WHOLE),
        };
        let durations = self.durations.as_deref().map(LastRun::read_file).transpose();
        let durations = durations.map_err(CommandError::Usage)?;
        Ok(cut(planned, shard, durations.as_ref()))
    }

    /// What targets must be kept apart from.
    fn demands(&self) -> Demands {
        let network = match self.network.unwrap_or(Network::Auto) {
            Network::Auto => NetworkMode::Auto,
            Network::Require => NetworkMode::Require,
            Network::Off => NetworkMode::Off,
        };
        Demands { network, isolation: self.isolation == Some(IsolationArg::Require), ..Demands::default() }
    }

    fn perform(
        &self,
        planned: Vec<Planned>,
        mut options: RunOptions,
        golden: Option<Golden>,
        known: Option<&KnownFailuresFile>,
        last: &mut LastRun,
        project: &Project,
    ) -> Result<Outcome, CommandError> {
        let _ours = OutFolder::take(self.out())?;
        let mut sinks = self.reports.open(self.out())?;
        let session = start()?;
        let mut context = session.context(self.out());
        context.recorder.demands = self.demands();
        context.recorder.disk_bytes = self.disk_bytes.unwrap_or(context.recorder.disk_bytes);
        context.fail_on = self.fail_on.level();
        context.keep = match self.keep.unwrap_or(KeepArg::All) {
            KeepArg::All => Keep::All,
            KeepArg::Bodies => Keep::Bodies,
            KeepArg::Failed => Keep::Failed,
            KeepArg::None => Keep::None,
        };
        context.wall = self.timeout;
        context.golden = golden;
        context.known = known.map(|known| &known.list);
        options.retries = self.retries.unwrap_or(0);
        options.fail_fast = self.fail_fast;
        options.started_at = time::rfc3339(time::now());
        let progress = Progress::start(self.reports.shows_progress(), 0);
        let snapshots = SnapshotAdvice::new(self.golden.folder(), project);
        let mut timings = self.timings.then(Timings::default);
        let finished = run_cases(planned, &context, &options, last, &mut |event| {
            let mut event = event.clone();
            if let Event::CaseFinished(case) = &mut event {
                snapshots.add_to(case);
                if let Some(timings) = &mut timings {
                    timings.add(case);
                }
            }
            progress.around(&event, || sinks.on_event(&event));
        });
        drop(progress);
        if let Err(error) = last.save(self.out()) {
            complain(&format!("{}: {}", self.out().display(), trouble(self.out(), &error)));
        }
        let mut outcome = Outcome::from(finished.exit_code);
        context.golden.iter().for_each(tell_summary);
        outcome.add(super::reports::finish(&self.reports, sinks));
        if let Some(timings) = timings {
            tell(format_args!("\n{timings}"));
        }
        if let Some(known) = known.filter(|_| !finished.interrupted) {
            known.save(self.known.known_failures.is_some())?;
        }
        Ok(outcome)
    }
}

fn list(planned: &[Planned], format: Format) -> Result<Outcome, CommandError> {
    let mut out = format.stdout();
    for case in planned {
        match format {
            Format::Human => {
                writeln!(
                    out,
                    "{:<44} {:<12} {}",
                    printable(&case.case.name),
                    printable(case.target_label()),
                    printable(&case.case.description)
                )?;
            }
            Format::Json => {
                let value = json!({
                    "type": "case", "case": case.case.name, "target": case.target_label(),
                    "description": case.case.description, "contract": case.case.contract, "tags": case.case.tags,
                    "expected": case.expect.verdict.name(), "or_expected": case.expect.or_verdicts, "skip": case.skip,
                });
                writeln!(out, "{value}")?;
            }
        }
    }
    out.flush()?;
    Ok(Outcome::Ok)
}

/// Whether a filter is a scenario file.
fn is_file(filter: &str) -> bool {
    Path::new(filter).extension().is_some_and(|extension| extension == "toml" || extension == "json")
}

/// What to say of a scenario whose contract is nearly one that is known: it would run nowhere, and nobody would know.
fn mistyped_contract(suite: &Suite, targets: &[Arc<Located>]) -> Option<String> {
    let promised =
        |contract: &str| targets.iter().any(|target| target.choice.target.speaking(contract).is_some());
    let is_known = |contract: &str| schema::built_in().any(|name| name == contract) || promised(contract);
    suite.cases().iter().find_map(|(case, _)| {
        let source = case.source.as_ref().filter(|_| !is_known(&case.contract))?;
        let meant = nearest(&case.contract, schema::built_in())?;
        Some(format!(
            "{}:{}: unknown contract `{}`, did you mean `{meant}`?",
            source.file, source.line, case.contract
        ))
    })
}

/// What to say of a finding that a scenario expects and no contract has: it could only ever be stale.
fn mistyped_clause(planned: &[Planned], targets: &[Arc<Located>]) -> Result<Option<String>, CommandError> {
    let contracts = contracts_of(targets)?;
    let is_known = |clause: &str| contracts.iter().any(|contracts| contracts.has_clause(clause));
    let expected =
        planned.iter().flat_map(|case| case.expect.findings.iter().map(move |clause| (case, clause)));
    let Some((case, clause)) = expected.into_iter().find(|(_, clause)| !is_known(clause)) else {
        return Ok(None);
    };
    let place = case.case.source.as_ref().map_or_else(String::new, |at| format!("{}:{}: ", at.file, at.line));
    let known = contracts.iter().flat_map(|contracts| contracts.clauses_of(&case.case.contract));
    let known: Vec<String> = known.collect();
    let hint = match nearest(clause, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("clawgate contract show {} lists its clauses", case.case.contract),
    };
    Ok(Some(format!("{place}{}: expects a finding of an unknown clause `{clause}`; {hint}", case.case.name)))
}

/// What to say of a scenario of the user's that asks a question which no turn answers.
fn unanswered(planned: &[Planned]) -> Option<String> {
    planned.iter().find_map(|case| {
        let source = case.case.source.as_ref()?;
        let asks = case.run.whole_prompt().is_some() && case.expect.verdict == Class::Ok;
        let is_answered = !case.script.turns.is_empty() || case.expect.requests.is_some_and(|asked| asked.min == 0);
        (asks && !is_answered).then(|| {
            format!(
                "{}:{}: {} asks a question and has no turn that answers it; write [[api.turns]], name a script with \
                 api = \"plain\", or say requests = 0 in [expect]",
                source.file, source.line, case.case.name
            )
        })
    })
}

/// Says which cases a target is spared, since it does not claim what they need.
fn tell_left_out(suite: &Suite, target: &Located) {
    let counts = left_out(suite, target);
    let total: u64 = counts.values().sum();
    if total > 0 {
        let parts: Vec<String> = counts.iter().map(|(ability, count)| format!("{ability} {count}")).collect();
        let (cases, they) = if total == 1 { ("case is", "it needs") } else { ("cases are", "they need") };
        note(&format!(
            "{total} {cases} left out on {}, which does not claim what {they}: {} (`can` in its file claims it)",
            target.choice,
            parts.join(", ")
        ));
    }
}

/// What to say of a path that was named as if it were a scenario, and is none.
fn no_scenario(filter: &str) -> Option<CommandError> {
    let (path, shown) = (Path::new(filter), printable(filter));
    if path.is_dir() {
        return Some(CommandError::Usage(format!(
            "{shown}: is a directory: name the scenario files in it, or let a profile of clawgate.toml say \
             `scenarios = [\"{shown}\"]`"
        )));
    }
    path.is_file().then(|| {
        CommandError::Usage(format!(
            "{shown}: is no scenario, which is a file that ends in .toml; what a run printed is judged by: clawgate judge \
             {shown}"
        ))
    })
}
