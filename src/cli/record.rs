//! `clawgate record`: a command line run once against a real API, through a proxy that writes both sides down.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::error::{unreadable, unwritable};
use super::out::OutFolder;
use super::output::say;
use super::project::{OUT, Project, variable};
use super::typed::whole;
use super::{CommandError, Format, FormatArg, containment};
use crate::document;
use crate::exit_code::Outcome;
use crate::golden::{Fingerprint, Mode, Normalised, Store};
use crate::harness::mock::dialect;
use crate::harness::mock::script::Script;
use crate::harness::mock::{Upstream, Upstreams};
use crate::harness::room::RoomFile;
use crate::harness::supervise::{Demands, NetworkMode};
use crate::judge::Contracts;
use crate::run::scenario::recorded::{Origin, scenario_of};
use crate::run::scenario::{Case, RunPart};
use crate::run::target::{Choice, Located, Speaks, Target};
use crate::run::{
    AttemptError, GOLDEN_FOLDER, Planned, Relayed, Session, Surroundings, is_secret, unreached,
};
use crate::schema::Level;
use crate::shell::shell_word;
use crate::text::printable;

/// Where each API is, and by which setting its clients are pointed elsewhere.
const APIS: [(&str, &str, &str); 4] = [
    ("anthropic", "https://api.anthropic.com", "ANTHROPIC_BASE_URL"),
    ("openai-responses", "https://api.openai.com", "OPENAI_BASE_URL"),
    ("openai-chat", "https://api.openai.com", "OPENAI_BASE_URL"),
    ("gemini", "https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL"),
];
/// The credentials of these APIs that are passed on from the user's environment.
const CREDENTIALS: [&str; 8] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    "CODEX_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENAI_API_KEY",
];
/// The target of a program that no target file describes.
const ANY: &str = include_str!("../run/target/any.toml");
/// A larger file is not written into a scenario.
const MOST_FILE: u64 = 256 << 10;

/// Run a command line once against a real API, and write down everything that both sides said
///
/// The program runs in a clean room, as a case of `run` does, and reaches nothing but a recording proxy on loopback; the
/// proxy passes every request on to the API (Anthropic, OpenAI, Gemini, by the path that is asked; --upstream names any
/// other) and the answer back, byte for byte as it comes. The recording holds the requests and answers whole. Credentials are
/// taken from your environment and are masked wherever they turn up. With --as scenario it becomes a scenario that serves
/// the answers again, turn by turn, and a snapshot of what the program did.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  clawgate record -- claude -p 'say hi' --output-format stream-json --verbose
  clawgate record --as scenario greeting -- claude -p 'say hi' --output-format stream-json --verbose
  clawgate run scenarios/greeting.toml --target claude      # the same again, without the API
  clawgate record --own --upstream https://gateway.example/v1 -- ./agent.py --json
  clawgate record --name codex -- codex exec --json -c 'model_providers.m={name=\"m\",base_url=\"{api}/v1\",wire_api=\"responses\",env_key=\"OPENAI_API_KEY\"}' -c model_provider=m hello

In words of the command {api} is the address of the proxy, {home}, {work} and {tmp} are the room, and {program} is the
program of --target. A program that does not ask where it is told to is not recorded: the summary says how many requests came.

Exit codes: 0 it was recorded, however the program ended; 2 usage; 3 the program could not be started, the API could not be reached,
or nothing was asked of it.")]
pub(super) struct RecordArgs {
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
    /// Where requests are passed on to, instead of the API's own address or what `ANTHROPIC_BASE_URL` and the like name
    #[arg(long, value_name = "URL")]
    upstream: Option<Upstream>,
    /// What kind of program it is [default: the target of its name, if there is one]
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// Also write it as a scenario, `scenarios/NAME.toml`, with a snapshot where it ran in a clean room
    #[arg(long = "as", num_args = 2, value_names = ["scenario", "NAME"])]
    as_what: Vec<String>,
    /// Write over a scenario and a snapshot that are there
    #[arg(long, requires = "as_what")]
    force: bool,
    /// What the recording is called [default: the scenario's name, else the program's]
    #[arg(long, value_name = "NAME", value_parser = plain_name)]
    name: Option<String>,
    /// Run it in your own environment, home and working directory instead of a clean room; nothing is kept apart
    #[arg(long)]
    own: bool,
    /// A setting for the program, or the name of one of yours to pass on; a name that says that it is a key is masked
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// A file or folder that is copied into the room's working directory
    #[arg(long, value_name = "PATH", conflicts_with = "own")]
    copy: Vec<PathBuf>,
    /// A file for its standard input; - passes yours on
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// How long it may take, in seconds
    #[arg(long, value_name = "S", value_parser = |text: &str| whole(text, 1_u64, 86_400))]
    timeout: Option<u64>,
    /// Where the recording goes, below `recorded/`
    #[arg(long, value_name = "DIR", default_value = OUT)]
    out: PathBuf,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) fn run(args: &RecordArgs) -> Result<Outcome, CommandError> {
    let project = Project::open()?;
    let scenario = args.scenario(&project)?;
    let upstreams = args.upstreams()?;
    let located = args.located(&project)?;
    let own = args.own.then(surroundings).transpose()?;
    let name = args.recording_name(&located);
    let _ours = OutFolder::take(&args.out)?;
    let planned = args.planned(located, &name, own.as_ref())?;
    let session = Session::start(containment()).map_err(CommandError::Start)?;
    let mut context = session.context(&args.out);
    context.wall = args.timeout.map(Duration::from_secs);
    if own.is_some() {
        context.recorder.demands = Demands { network: NetworkMode::Off, ..Demands::default() };
    }
    let contracts = contracts(&planned)?;
    let relayed = context.relayed(&planned, &contracts, &upstreams, own.as_ref()).map_err(unrecorded)?;
    args.conclude(&planned, relayed, scenario)
}

fn unrecorded(error: AttemptError) -> CommandError {
    match error {
        AttemptError::Contract(error) => error.into(),
        AttemptError::Record(error) => CommandError::Environment(error.to_string()),
    }
}

fn contracts(planned: &Planned) -> Result<Contracts, CommandError> {
    Ok(match &planned.speaks.contract_at {
        Some(path) => Contracts::only(&path.display().to_string())?,
        None => Contracts::built_in(),
    })
}

/// A scenario that is to be written.
struct Wanted {
    name: String,
    path: PathBuf,
}

impl RecordArgs {
    fn scenario(&self, project: &Project) -> Result<Option<Wanted>, CommandError> {
        let [what, name] = &self.as_what[..] else { return Ok(None) };
        if what != "scenario" {
            let message = format!("--as {what}: expected --as scenario NAME");
            return Err(CommandError::Usage(message));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        if name.is_empty()
            || !name.chars().all(is_plain)
            || name.split('/').any(|part| part.is_empty() || part.starts_with('.'))
        {
            let message = format!(
                "--as scenario {name}: expected a name of letters, digits, - and _, with / between parts"
            );
            return Err(CommandError::Usage(message));
        }
        let folder = project.scenarios().into_iter().find(|path| !path.is_file());
        let path = folder.unwrap_or_else(|| "scenarios".into()).join(format!("{name}.toml"));
        if path.exists() && !self.force {
            let message = format!("{}: there is such a scenario; --force writes over it", path.display());
            return Err(CommandError::Usage(message));
        }
        Ok(Some(Wanted { name: name.clone(), path }))
    }

    fn upstreams(&self) -> Result<Upstreams, CommandError> {
        let mut all = Vec::new();
        for (api, usual, setting) in APIS {
            let upstream = match (&self.upstream, std::env::var(setting).ok().filter(|set| !set.is_empty())) {
                (Some(upstream), _) => upstream.clone(),
                (None, Some(set)) => {
                    set.parse().map_err(|error| CommandError::Usage(format!("{setting}={set}: {error}")))?
                }
                // It is our own.
                (None, None) => usual.parse().map_err(CommandError::Usage)?,
            };
            let api = dialect::named(api).unwrap_or(dialect::ALL[0]).name();
            all.push((api, upstream));
        }
        let needs_tls = all.iter().find(|(_, upstream)| upstream.needs_tls());
        match needs_tls.filter(|_| !cfg!(feature = "net")) {
            Some((_, upstream)) => Err(CommandError::Usage(format!(
                "{upstream} is asked with https, for which this clawgate was not built: `cargo install clawgate --features \
                 net` makes one that can, and published binaries can; --upstream http://… names an API without it"
            ))),
            None => Ok(Upstreams(all)),
        }
    }

    /// The target that the command line is of, with the program that was typed.
    fn located(&self, project: &Project) -> Result<Located, CommandError> {
        let typed = self.command[0].to_string_lossy().into_owned();
        let file = Path::new(&typed).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let known = project.target_names().into_iter().find(|name| *name == file);
        if typed == "{program}" {
            let Some(target) = &self.target else {
                return Err(CommandError::Usage(
                    "{program} is the program of a target: name it with --target".into(),
                ));
            };
            return project.locate(target);
        }
        let choice = if let Some(target) = self.target.as_ref().or(known.as_ref()) {
            project.target(target)?
        } else {
            let mut target = Target::parse("any.toml", ANY)?;
            target.name.clone_from(&file);
            target.env.push(("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()));
            Choice::of(target)
        };
        if typed == "{clawgate}" {
            return Ok(Located::unlocated(choice));
        }
        let program = if typed.contains('/') { Some(PathBuf::from(&typed)) } else { on_path(&typed) };
        let missing = || CommandError::Environment(format!("`{}` is not on the PATH", printable(&typed)));
        let program = program.ok_or_else(missing)?;
        let choice = Choice { program: Some(program), version: None, ..choice };
        Ok(choice.locate(variable, Demands::default())?)
    }

    fn recording_name(&self, located: &Located) -> String {
        let named = self.name.clone().or_else(|| self.as_what.get(1).cloned());
        named.unwrap_or_else(|| located.choice.target.name.clone())
    }

    /// The command line as a case.
    fn planned(
        &self,
        located: Located,
        name: &str,
        own: Option<&Surroundings>,
    ) -> Result<Planned, CommandError> {
        let mut run = RunPart { bare: true, ..RunPart::default() };
        run.args = self.command[1..].to_vec();
        run.program = (self.command[0] == "{clawgate}").then(|| "{clawgate}".to_owned());
        run.stdin = self.stdin.as_deref().map(read_stdin).transpose()?;
        let mut credentials: Vec<(String, String)> = Vec::new();
        for name in CREDENTIALS {
            if let Some(value) = std::env::var(name).ok().filter(|value| !value.is_empty() && own.is_none()) {
                credentials.push((name.to_owned(), value));
            }
        }
        for given in &self.env {
            if given.is_empty() || given.starts_with('=') {
                let message = format!("--env {}: expected NAME or NAME=VALUE", printable(given));
                return Err(CommandError::Usage(message));
            }
            let (name, value) = match given.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (
                    given.as_str(),
                    std::env::var(given).map_err(|_| {
                        CommandError::Usage(format!(
                            "--env {}: it is not set; give it a value with --env NAME=VALUE",
                            printable(given)
                        ))
                    })?,
                ),
            };
            let settings = if Surroundings::is_secret(name) { &mut credentials } else { &mut run.env };
            settings.retain(|(known, _)| known != name);
            settings.push((name.to_owned(), value));
        }
        // A key that is none, unless the user has one for it.
        let (mine, dummies) = (&mut credentials, &located.choice.target.secrets);
        let is_key =
            |name: &str| CREDENTIALS.contains(&name) || dummies.iter().any(|(known, _)| known == name);
        if own.is_none() && !mine.iter().any(|(name, _)| is_key(name)) {
            mine.extend(dummies.iter().cloned());
        }
        for path in &self.copy {
            let to = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let to = to.ok_or_else(|| {
                CommandError::Usage(format!("{}: has no name to copy it to", path.display()))
            })?;
            fs::metadata(path).map_err(unreadable(path))?;
            run.files.push(RoomFile::copy(to, path));
        }
        let speaks = spoken(&located.choice.target, &self.command).cloned();
        let contract = speaks.as_ref().map(|speaks| speaks.contract.clone()).unwrap_or_default();
        let speaks = speaks.or_else(|| located.choice.target.speaks.first().cloned()).unwrap_or_default();
        let case = Case::bare(name.to_owned(), contract, run, Vec::new());
        let mut planned = Planned::new(Arc::new(case), Arc::new(Script::new()), Arc::new(located), speaks);
        planned.real_api = Some(credentials);
        planned.place = Some(self.out.join("recorded").join(name));
        Ok(planned)
    }

    /// Saves the recording, and what is made of it.
    fn conclude(
        &self,
        planned: &Planned,
        relayed: Relayed,
        scenario: Option<Wanted>,
    ) -> Result<Outcome, CommandError> {
        let Relayed { mut recorded, judgement } = relayed;
        let unreached = unreached(&recorded.journal);
        let target = &planned.target.choice.target;
        if let Some(files) = files_of(&self.copy) {
            recorded.recording.facts.other.insert("room_files".into(), files);
        }
        recorded.save().map_err(|error| CommandError::Environment(error.to_string()))?;
        let place = recorded.place().display().to_string();
        let recording = &recorded.recording;
        let verdict = judgement.verdict.as_ref();
        let contract = judgement.contract.clone().unwrap_or_default();
        let mut outcome = Outcome::Ok;
        let mut complain = |message: String| outcome.add(CommandError::Environment(message).told());
        for reason in &unreached {
            complain(reason.clone());
        }
        if let Some(error) = &recording.facts.exit.spawn_error {
            complain(format!("the program was not started: {}", error.message));
        } else if recorded.journal.count() == 0 {
            complain(
                "the program asked nothing of the proxy: it may ask elsewhere; give it the address as {api}, or with --env \
                 NAME={api}"
                    .into(),
            );
        }
        let mut made: Option<(PathBuf, Option<PathBuf>)> = None;
        if let Some(wanted) = scenario.filter(|_| outcome == Outcome::Ok) {
            let class = verdict.map_or_else(|| "ok".to_owned(), |verdict| verdict.class.to_string());
            let findings = judgement.findings.iter().filter(|finding| finding.level == Level::Must);
            let origin = Origin {
                name: &wanted.name,
                contract: &contract,
                verdict: (&class, verdict.and_then(|verdict| verdict.detail.as_deref())),
                findings: findings.map(|finding| finding.clause.clone()).collect(),
                target: Some(target),
                command: &recorded.masker.mask(&self.again()),
            };
            let text = scenario_of(recording, &origin)
                .map_err(|error| CommandError::Environment(format!("{place}: {error}")))?;
            if let Some(folder) = wanted.path.parent() {
                fs::create_dir_all(folder).map_err(unwritable(folder))?;
            }
            fs::write(&wanted.path, text).map_err(unwritable(&wanted.path))?;
            let snapshot =
                (!self.own).then(|| self.snapshot(planned, recording, &wanted, &contract)).transpose()?;
            made = Some((wanted.path, snapshot));
        }
        let summary = recorded.journal.summary();
        let bytes: u64 = recorded.journal.requests.iter().map(|entry| entry.sent_bytes).sum();
        let mut out = self.format.format.stdout();
        if self.format.format == Format::Json {
            let line = json!({
                "type": "recorded", "schema_version": 1, "recording": place, "target": target.name,
                "target_version": recording.facts.target_version, "exit": recording.facts.to_value()["exit"],
                "verdict": verdict.map(|verdict| verdict.class.to_string()), "contract": judgement.contract,
                "requests": summary.requests, "turns": summary.turns, "answer_bytes": bytes,
                "scenario": made.as_ref().map(|(path, _)| path.display().to_string()),
                "snapshot": made.as_ref().and_then(|(_, path)| Some(path.as_ref()?.display().to_string())),
            });
            writeln!(out, "{line}")?;
            out.flush()?;
            return Ok(outcome);
        }
        let class = verdict.map_or("no verdict".to_owned(), |verdict| verdict.class.to_string());
        writeln!(
            out,
            "{place}: {class}, {} requests, {} turns, {bytes} bytes of answers",
            summary.requests, summary.turns
        )?;
        if let Some((path, snapshot)) = &made {
            writeln!(out, "{}: written", path.display())?;
            if let Some(snapshot) = snapshot {
                writeln!(out, "{}: written", snapshot.display())?;
            }
            let label = if target.name == "reference" {
                String::new()
            } else {
                format!(" --target {}", shell_word(&planned.target.choice.label))
            };
            say(&format!("serve it again: clawgate run {}{label}", shell_word(&path.display().to_string())));
        }
        say(&format!("look at it: clawgate judge {}", shell_word(&place)));
        out.flush()?;
        Ok(outcome)
    }

    /// The snapshot of what was recorded, which a run of the scenario is compared with.
    fn snapshot(
        &self,
        planned: &Planned,
        recording: &crate::recording::Recording,
        wanted: &Wanted,
        contract: &str,
    ) -> Result<PathBuf, CommandError> {
        let store = Store::new(GOLDEN_FOLDER, is_secret);
        let mut recording = recording.clone();
        recording.facts.scenario.clone_from(&wanted.name);
        recording.facts.other.insert("contract".into(), contract.into());
        let path = store.path(&recording.facts.target, &wanted.name);
        if path.exists() && !self.force {
            let message = format!("{}: there is such a snapshot; --force writes over it", path.display());
            return Err(CommandError::Usage(message));
        }
        let contracts = Contracts::built_in();
        let volatile = planned.target.choice.target.volatile.and(contracts.volatile(contract)?);
        let owner = store.owner(&wanted.path);
        let run = Normalised::new(&recording, &volatile).owned_by(Some(owner));
        store.check(&run, Mode::Update, Fingerprint::NONE)?;
        Ok(path)
    }

    /// The command as it was typed.
    fn again(&self) -> String {
        let mut words = vec!["clawgate record --".to_owned()];
        words.extend(self.command.iter().map(|word| shell_word(&word.to_string_lossy()).into_owned()));
        words.join(" ")
    }
}

/// The name of a recording, which is a folder below `recorded/` and nowhere else.
fn plain_name(name: &str) -> Result<String, String> {
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    if name.split('/').all(is_plain) {
        return Ok(name.to_owned());
    }
    Err("expected a name of letters, digits, `-`, `_` and `.`, with / between parts".into())
}

/// The contract that these arguments ask for: the one of whose own words all are there.
fn spoken<'t>(target: &'t Target, command: &[OsString]) -> Option<&'t Speaks> {
    let is_common = |word: &String| target.speaks.iter().all(|speaks| speaks.args.contains(word));
    let own =
        |speaks: &Speaks| speaks.args.iter().filter(|word| !is_common(word)).cloned().collect::<Vec<_>>();
    let asks =
        |speaks: &&Speaks| own(speaks).iter().all(|word| command.iter().any(|typed| typed == word.as_str()));
    let alone = target.speaks.len() == 1;
    target
        .speaks
        .iter()
        .filter(|speaks| !alone && !own(speaks).is_empty())
        .filter(asks)
        .max_by_key(|speaks| own(speaks).len())
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = variable("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn surroundings() -> Result<Surroundings, CommandError> {
    let cwd = std::env::current_dir().map_err(CommandError::Start)?;
    // What is no text cannot be passed on through the supervisor.
    let env = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(Surroundings { cwd, env: env.filter(|(name, _)| !name.starts_with("CLAWGATE_")).collect() })
}

fn read_stdin(path: &Path) -> Result<String, CommandError> {
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin().lock())
    } else {
        document::read_to_string(path)
    };
    text.map_err(unreadable(path))
}

/// The files that stand in the room from the start, as a scenario names them: those that are small texts.
fn files_of(copied: &[PathBuf]) -> Option<Value> {
    fn add(path: &Path, name: String, files: &mut serde_json::Map<String, Value>) {
        let Ok(kind) = fs::metadata(path) else { return };
        if kind.is_dir() {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink())) {
                add(&entry.path(), format!("{name}/{}", entry.file_name().to_string_lossy()), files);
            }
        } else if kind.is_file()
            && kind.len() <= MOST_FILE
            && let Ok(text) = fs::read_to_string(path)
        {
            files.insert(name, text.into());
        }
    }
    let mut files = serde_json::Map::new();
    for path in copied {
        add(path, path.file_name()?.to_string_lossy().into_owned(), &mut files);
    }
    (!files.is_empty()).then_some(Value::Object(files))
}
