//! `clawgate run`: scenarios on targets, recorded and judged.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::json;

use super::golden::flag::orphans;
use super::reports::ReportArgs;
use super::since::Touched;
use super::{Failure, Format, complain};
use crate::config::{self, Config, Profile};
use crate::exit_code;
use crate::harness::supervise::NetworkMode;
use crate::harness::target::{Choice, Located};
use crate::report::Progress;
use crate::run::{
    Golden, LastRun, PlanInfo, Planned, RunOptions, Setting, Shard, Stop, Suite, cut, idle_filter, plan,
    run as run_cases, select,
};
use crate::schema::{self, Level};
use crate::text::nearest;
use crate::time;

/// Runs scenarios on targets, records what happens, and judges it
///
/// Without a target the whole built-in suite runs on `reference`, an agent command line inside clawgate.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "Exit codes: 0 every case is as expected; 100 a case is not; 2 a scenario, target file or flag \
is wrong; 3 a target is missing or the harness failed; 4 nothing was selected; 130 interrupted."
)]
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
    /// How many cases run at a time [default: one for each processor]
    #[arg(long, short, value_name = "N", env = "CLAWGATE_JOBS", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
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
    #[arg(long, value_name = "N", env = "CLAWGATE_RETRIES")]
    retries: Option<u32>,
    /// Run each case so many times [default: 1]
    #[arg(long, value_name = "N", env = "CLAWGATE_REPEAT", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// Only what failed the last time
    #[arg(long, value_enum, value_name = "WHICH")]
    rerun: Option<Rerun>,
    /// Only what the changes since a commit touch: their scenarios, targets and contracts; any other file but
    /// documentation touches everything
    #[arg(long, value_name = "REF")]
    since: Option<String>,
    /// Stop at the first failure
    #[arg(long)]
    fail_fast: bool,
    /// The least level of a clause that fails a case [default: must]
    #[arg(long, value_enum, value_name = "LEVEL", env = "CLAWGATE_FAIL_ON")]
    fail_on: Option<FailOn>,
    #[command(flatten)]
    golden: super::golden::flag::GoldenArgs,
    /// Where recordings go [default: clawgate-out]
    #[arg(long, value_name = "DIR", env = "CLAWGATE_OUT")]
    out: Option<PathBuf>,
    /// Whether targets are kept away from every network but the scripted API [default: auto]
    #[arg(long, value_enum, env = "CLAWGATE_NETWORK")]
    network: Option<Network>,
    /// The profile of clawgate.toml that says what flags and variables do not
    #[arg(long, short = 'P', value_name = "NAME", default_value = config::DEFAULT, env = "CLAWGATE_PROFILE")]
    profile: String,
    /// Folders and files of the project's scenarios, which only a profile names.
    #[arg(skip)]
    scenarios: Option<Vec<String>>,
    #[command(flatten)]
    reports: ReportArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rerun {
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    Must,
    Should,
}

impl FailOn {
    /// The level that it names.
    pub(super) fn level(self) -> Level {
        match self {
            Self::Must => Level::Must,
            Self::Should => Level::Should,
        }
    }
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
        .ok_or_else(|| "expected seconds, such as 30".into())
}

/// Runs the command and returns its exit code.
pub(super) fn run(args: &RunArgs) -> Result<u8, Failure> {
    let mut settled = args.clone();
    settled.settle()?;
    settled.run()
}

impl RunArgs {
    /// Fills in what the user did not say: from the profile, else the defaults.
    fn settle(&mut self) -> Result<(), Failure> {
        let profile = profile(&self.profile).map_err(Failure::Usage)?;
        let wrong = |reason: String| Failure::Usage(format!("{}: {reason}", config::FILE));
        if self.target.is_empty() {
            self.target = profile.target.unwrap_or_else(|| vec!["reference".to_owned()]);
        }
        if self.filters.is_empty() {
            self.filters = profile.cases.unwrap_or_default();
        }
        self.scenarios = profile.scenarios;
        self.jobs = self.jobs.or(profile.jobs.and_then(|jobs| u16::try_from(jobs).ok()));
        self.timeout = self.timeout.or(profile.timeout.and_then(|s| Duration::try_from_secs_f64(s).ok()));
        self.retries = self.retries.or(profile.retries.and_then(|count| u32::try_from(count).ok()));
        self.repeat = self.repeat.or(profile.repeat.and_then(|count| u32::try_from(count).ok()));
        self.fail_fast |= profile.fail_fast.unwrap_or(false);
        let fail_on =
            profile.fail_on.map(|word| FailOn::from_str(&word, false)).transpose().map_err(wrong)?;
        self.fail_on = self.fail_on.or(fail_on);
        let network =
            profile.network.map(|word| Network::from_str(&word, false)).transpose().map_err(wrong)?;
        self.network = self.network.or(network);
        self.out = self.out.take().or(profile.out.map(PathBuf::from));
        self.durations = self.durations.take().or(profile.durations.map(PathBuf::from));
        self.reports.settle(profile.report).map_err(wrong)
    }

    fn out(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new("clawgate-out"))
    }

    fn run(&self) -> Result<u8, Failure> {
        let args = self;
        let (suite, filters) = args.suite()?;
        let targets = match args.targets()? {
            Ok(targets) => targets,
            Err(message) => {
                complain(&message);
                return Ok(exit_code::ENVIRONMENT);
            }
        };
        let mut last = LastRun::read(args.out());
        let planned = plan(&suite, &targets, args.repeat.unwrap_or(1));
        if let Some(complaint) = mistyped_contract(&suite, &targets) {
            return Err(Failure::Usage(complaint));
        }
        if let Some(file) = args.idle_file(&planned) {
            let on = args.target.join(", ");
            complain(&format!("{file}: no case of it runs on {on}, which promises other contracts"));
            return Ok(exit_code::NOTHING_SELECTED);
        }
        if let Some(filter) = idle_filter(&planned, &filters) {
            complain(&args.no_case(filter, &suite));
            return Ok(exit_code::NOTHING_SELECTED);
        }
        let mut planned = select(planned, &filters);
        if args.rerun == Some(Rerun::Failed) {
            if !last.is_known() {
                complain(&format!(
                    "there is no last run in {}: run without --rerun first, or name its --out",
                    args.out().display()
                ));
                return Ok(exit_code::NOTHING_SELECTED);
            }
            planned.retain(|case| last.failed(&case.key()));
        }
        if let Some(reference) = &args.since {
            let touched = Touched::since(reference).map_err(Failure::Usage)?;
            planned.retain(|case| touched.concerns(case));
        }
        if planned.is_empty() {
            complain(&args.nothing());
            return Ok(exit_code::NOTHING_SELECTED);
        }
        let (planned, whole) = args.part(planned)?;
        if args.list {
            return list(&planned, args.reports.format());
        }
        let golden = args.golden.golden(&args.target)?;
        let orphans = match &golden {
            // A scenario file alone says nothing about the cases of the others.
            Some(golden) if filters.len() == args.filters.len() => orphans(golden, &suite, &targets)?,
            _ => exit_code::OK,
        };
        Ok(exit_code::worst(orphans, args.perform(planned, whole, golden, &mut last)?))
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
    fn suite(&self) -> Result<(Suite, Vec<String>), Failure> {
        let usage = |error: crate::run::SuiteError| Failure::Usage(error.to_string());
        let (files, filters): (Vec<&String>, Vec<&String>) =
            self.filters.iter().partition(|filter| is_file(filter));
        // Whoever names files wants what is in them.
        let mut suite = if files.is_empty() { Suite::built_in().map_err(usage)? } else { Suite::default() };
        for file in &files {
            if !Path::new(file).exists() {
                let reason =
                    "there is no such file; what ends in .toml is a scenario file, anything else a filter";
                return Err(Failure::Usage(format!("{file}: {reason}")));
            }
            suite.add_path(Path::new(file)).map_err(usage)?;
        }
        if files.is_empty() {
            for path in self.own_scenarios() {
                suite.add_path(Path::new(&path)).map_err(usage)?;
            }
        }
        Ok((suite, filters.into_iter().cloned().collect()))
    }

    /// Where the project's own scenarios are: where the profile says, else beside the configuration.
    fn own_scenarios(&self) -> Vec<String> {
        match &self.scenarios {
            Some(named) => named.clone(),
            None if Path::new(config::FILE).is_file() && Path::new("scenarios").is_dir() => {
                vec!["scenarios".to_owned()]
            }
            None => Vec::new(),
        }
    }

    /// The targets; the inner error is about what is not installed.
    fn targets(&self) -> Result<Result<Vec<Arc<Located>>, String>, Failure> {
        let folder = Path::new(config::FILE).is_file().then_some(Path::new("targets"));
        let mut targets = Vec::new();
        for typed in &self.target {
            let choice = Choice::parse(typed, folder).map_err(|error| Failure::Usage(error.to_string()))?;
            match choice.locate(|name| std::env::var_os(name)) {
                Ok(located) => targets.push(Arc::new(located)),
                Err(error) => return Ok(Err(error.to_string())),
            }
        }
        Ok(Ok(targets))
    }

    /// What to say when nothing is left.
    fn nothing(&self) -> String {
        if self.rerun.is_some() {
            return "nothing failed the last time".into();
        }
        if let Some(reference) = &self.since {
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
    fn part(&self, planned: Vec<Planned>) -> Result<(Vec<Planned>, PlanInfo), Failure> {
        let shard = match self.shard {
            Some(shard) => shard,
            None => Shard::from_environment(|name| std::env::var(name).ok())
                .map_err(Failure::Usage)?
                .unwrap_or(Shard::WHOLE),
        };
        let durations = self.durations.as_deref().map(LastRun::read_file).transpose();
        let durations = durations.map_err(Failure::Usage)?;
        Ok(cut(planned, shard, durations.as_ref()))
    }

    fn perform(
        &self,
        planned: Vec<Planned>,
        whole: PlanInfo,
        golden: Option<Golden>,
        last: &mut LastRun,
    ) -> Result<u8, Failure> {
        let mut sinks = self.reports.open(self.out())?;
        let environment = |what: &str, error: &io::Error| {
            complain(&format!("{what}: {error}"));
            exit_code::ENVIRONMENT
        };
        let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
        {
            Ok(runtime) => runtime,
            Err(error) => return Ok(environment("cannot start", &error)),
        };
        let stop = match Stop::new() {
            Ok(stop) => Arc::new(stop),
            Err(error) => return Ok(environment("cannot start", &error)),
        };
        listen_for_interrupts(&runtime, &stop);
        let setting = Setting::new(runtime.handle().clone(), super::containment(), self.out(), &stop)
            .with_network(match self.network.unwrap_or(Network::Auto) {
                Network::Auto => NetworkMode::Auto,
                Network::Require => NetworkMode::Require,
                Network::Off => NetworkMode::Off,
            })
            .with_fail_on(self.fail_on.unwrap_or(FailOn::Must).level())
            .with_wall(self.timeout)
            .with_golden(golden);
        let mut options = RunOptions::default();
        options.jobs = self.jobs.map_or(options.jobs, usize::from);
        options.retries = self.retries.unwrap_or(0);
        options.fail_fast = self.fail_fast;
        options.started_at = time::rfc3339(time::now());
        options.plan = whole;
        let progress = Progress::start(self.reports.shows_progress());
        let finished = run_cases(planned, &setting, &options, last, &mut |event| {
            progress.around(event, || sinks.on_event(event));
        });
        drop(progress);
        if let Err(error) = last.save(self.out()) {
            complain(&format!("{}: {error}", self.out().display()));
        }
        Ok(exit_code::worst(finished.exit_code, super::reports::finish(&self.reports, sinks)))
    }
}

/// The profile of that name; an empty one when there is no configuration.
fn profile(name: &str) -> Result<Profile, String> {
    let text = match std::fs::read_to_string(config::FILE) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && name == config::DEFAULT => {
            return Ok(Profile::default());
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!(
                "there is no profile `{name}`: profiles stand in {}, and there is none here. `clawgate init` writes one \
                 with a profile `ci`; without --profile and CLAWGATE_PROFILE none is needed",
                config::FILE
            ));
        }
        Err(error) => return Err(format!("{}: {error}", config::FILE)),
    };
    let config = Config::parse(config::FILE, &text).map_err(|error| error.render().to_string())?;
    config.profile(name)
}

/// The first Ctrl-C ends the run in good order, the second at once: the supervisors then end their targets.
pub(super) fn listen_for_interrupts(runtime: &tokio::runtime::Runtime, stop: &Arc<Stop>) {
    let stop = Arc::clone(stop);
    runtime.spawn(async move {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        for first in [true, false] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if first {
                stop.ask();
            } else {
                std::process::exit(i32::from(exit_code::INTERRUPTED));
            }
        }
    });
}

fn list(planned: &[Planned], format: Format) -> Result<u8, Failure> {
    let mut out = anstream::stdout().lock();
    for case in planned {
        match format {
            Format::Human => {
                writeln!(
                    out,
                    "{:<44} {:<12} {}",
                    case.case.name,
                    case.target_label(),
                    case.case.description
                )?;
            }
            Format::Json => {
                let value = json!({
                    "type": "case", "case": case.case.name, "target": case.target_label(),
                    "description": case.case.description, "contract": case.case.contract, "tags": case.case.tags,
                    "expected": case.expect.verdict.name(), "skip": case.skip,
                });
                writeln!(out, "{value}")?;
            }
        }
    }
    Ok(exit_code::OK)
}

/// Whether a filter is a scenario file.
fn is_file(filter: &str) -> bool {
    Path::new(filter).extension().is_some_and(|extension| extension == "toml")
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
