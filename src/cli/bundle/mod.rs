//! `clawgate bundle`: recordings as one file to send around.

mod opened;
mod zip;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

pub(super) use self::opened::{Opened, is_recorded};
use self::zip::ZipWriter;
use super::error::{unreadable, unwritable};
use super::output::say;
use super::{CommandError, Format, FormatArg};
use crate::exit_code::Outcome;
use crate::judge::{self, Contracts, Options, Source, find};
use crate::recording::Recording;
use crate::report::{Context, Kind, Options as ReportOptions, ReportRequest, Sinks, har};
use crate::run::scenario::recorded::{NotServed, Origin, scenario_of};
use crate::run::{Event, RecordedFolder, RunFinished, RunStarted, TargetInfo};
use crate::shell::shell_word;
use crate::text::Masked;

/// The files of a recording besides the bodies, which stand in these folders.
const FILES: [&str; 3] = ["stdout", "stderr", "stdin"];
const BODIES: [&str; 2] = ["requests", "answers"];

/// Make one file of recordings: output, bodies, a report, their traffic, and the command that replays them
///
/// The file is a zip whose files are stored as they are. `judge`, `diff`, `play` and `mock` read it like the folder that it
/// holds, and refuse one that was tampered with (names that lead elsewhere, links, what is compressed, two files of one name).
/// Secrets are masked again on the way.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  clawgate bundle clawgate-out/claude/claude/answers --out answers.zip
  clawgate judge answers.zip
  clawgate mock answers.zip                       # serves the answers of the one recording in it again
  clawgate bundle clawgate-out/recorded --har traffic.har

Exit codes: 0 it was written; 2 something is no recording; 3 it cannot be written; 4 there is no recording.")]
pub(super) struct BundleArgs {
    /// Recordings, or folders of them
    #[arg(required = true, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    /// The file that is written
    #[arg(long, value_name = "FILE", default_value = "bundle.zip")]
    out: PathBuf,
    /// Also write the traffic of all of them as an HTTP archive (HAR 1.2)
    #[arg(long, value_name = "FILE")]
    har: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArg,
}

/// A recording and its name in the bundle.
struct Packed {
    name: String,
    folder: PathBuf,
    recording: Recording,
}

pub(super) fn run(args: &BundleArgs) -> Result<Outcome, CommandError> {
    if args.har.as_ref().is_some_and(|har| *har == args.out) {
        let file = args.out.display();
        return Err(CommandError::Usage(format!("--out and --har cannot both be written to {file}")));
    }
    let opened = args.recordings.iter().map(|path| Opened::new(path)).collect::<Result<Vec<_>, _>>()?;
    let mut packed: Vec<Packed> = Vec::new();
    for opened in &opened {
        for input in find(opened.path())? {
            let Source::Recording(folder) = input.source else { continue };
            if packed.iter().any(|known| known.folder == folder) {
                continue;
            }
            let recording = Recording::open(&folder)?;
            let inside =
                folder.strip_prefix(opened.path()).ok().filter(|inside| !inside.as_os_str().is_empty());
            let plain = inside
                .map_or_else(|| folder.file_name().map(PathBuf::from).unwrap_or_default(), Path::to_owned);
            let plain = safe(&plain.to_string_lossy());
            let taken =
                |name: &str| packed.iter().any(|known: &Packed| known.name.eq_ignore_ascii_case(name));
            let mut numbered = (2..).map(|number| format!("{plain}-{number}"));
            let name = if taken(&plain) {
                numbered.find(|name| !taken(name)).unwrap_or_default()
            } else {
                plain.clone()
            };
            packed.push(Packed { name, folder, recording });
        }
    }
    if packed.is_empty() {
        let message =
            "there is no recording: a folder with a recording.json, as run and record leave them below --out";
        return Err(CommandError::NothingSelected(message.into()));
    }
    save(&args.out, &packed).map_err(unwritable(&args.out))?;
    if let Some(path) = &args.har {
        let recordings: Vec<&Recording> = packed.iter().map(|packed| &packed.recording).collect();
        fs::write(path, format!("{:#}\n", har(&recordings))).map_err(unwritable(path))?;
    }
    let bytes = fs::metadata(&args.out).map_err(unreadable(&args.out))?.len();
    let mut out = args.format.format.stdout();
    if args.format.format == Format::Json {
        let names: Vec<&str> = packed.iter().map(|packed| packed.name.as_str()).collect();
        let line = json!({
            "type": "bundle", "schema_version": 1, "file": args.out.display().to_string(), "bytes": bytes,
            "recordings": names, "har": args.har.as_ref().map(|path| path.display().to_string()),
        });
        writeln!(out, "{line}")?;
    } else {
        let recordings = if packed.len() == 1 { "recording" } else { "recordings" };
        writeln!(out, "{}: {} {recordings}, {bytes} bytes", args.out.display(), packed.len())?;
        say(&format!("read it with: clawgate judge {}", shell_word(&args.out.display().to_string())));
    }
    out.flush()?;
    Ok(Outcome::Ok)
}

/// A path as a name in a bundle.
fn safe(path: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "@+._-=~/".contains(c);
    let text: String = path.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
    let parts: Vec<String> = text
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| part.trim_start_matches('.').to_owned())
        .collect();
    let name = parts.join("/");
    if name.is_empty() { "recording".to_owned() } else { name }
}

/// Writes the bundle, whole or not at all. A device or a pipe is written to, not replaced.
fn save(path: &Path, packed: &[Packed]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        return write(File::options().write(true).open(path)?, packed);
    }
    let draft = path.with_extension("zip.partial");
    let written = File::create(&draft).and_then(|file| write(file, packed));
    written.and_then(|()| fs::rename(&draft, path)).inspect_err(|_| _ = fs::remove_file(&draft))
}

fn write(file: File, packed: &[Packed]) -> io::Result<()> {
    let mut zip = ZipWriter::new(file);
    let listed: Vec<Value> = packed.iter().map(Packed::listed).collect();
    let about = json!({"type": "bundle", "schema_version": 1, "clawgate": env!("CARGO_PKG_VERSION"), "recordings": listed});
    zip.add("bundle.json", &mut format!("{about:#}\n").as_bytes())?;
    zip.add("README.txt", &mut readme(packed).as_bytes())?;
    zip.add("report.html", &mut report(packed)?.as_bytes())?;
    for one in packed {
        one.write(&mut zip)?;
    }
    zip.finish()
}

impl Packed {
    fn listed(&self) -> Value {
        let facts = &self.recording.facts;
        json!({
            "path": self.name, "target": facts.target, "target_version": facts.target_version,
            "scenario": facts.scenario, "replay": self.replay(),
        })
    }

    /// What shows it again without the program that was recorded.
    fn replay(&self) -> String {
        format!("clawgate play {}", shell_word(&self.name))
    }

    fn write(&self, zip: &mut ZipWriter) -> io::Result<()> {
        let facts = format!("{:#}\n", self.recording.facts.to_value());
        zip.add(&format!("{}/recording.json", self.name), &mut facts.as_bytes())?;
        let mut paths: Vec<String> = FILES.iter().map(|name| (*name).to_owned()).collect();
        for folder in BODIES {
            let mut inside: Vec<String> = Vec::new();
            for entry in self.folder.join(folder).read_dir().into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let digits = name.strip_suffix(".json").unwrap_or(&name);
                if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    inside.push(format!("{folder}/{name}"));
                }
            }
            inside.sort();
            paths.extend(inside);
        }
        for path in paths {
            let file = self.folder.join(&path);
            // What a link leads to is none of the recording.
            if fs::symlink_metadata(&file).is_ok_and(|file| file.is_file()) {
                zip.add(&format!("{}/{path}", self.name), &mut Masked::new(File::open(&file)?))?;
            }
        }
        let traffic = format!("{:#}\n", har(&[&self.recording]));
        zip.add(&format!("{}/traffic.har", self.name), &mut traffic.as_bytes())?;
        match served_again(&self.recording) {
            Ok(text) => zip.add(&format!("{}/scenario.toml", self.name), &mut text.as_bytes()),
            // Not everything that was recorded asked something.
            Err(_) => Ok(()),
        }
    }
}

/// The answers of a recording as a scenario, for whoever asks the same.
pub(super) fn served_again(recording: &Recording) -> Result<String, NotServed> {
    let facts = &recording.facts;
    let name: String = facts.scenario.split_whitespace().collect::<Vec<_>>().join("-").replace('#', "-");
    let origin = Origin {
        name: if name.is_empty() { "recorded" } else { &name },
        contract: facts.contract().unwrap_or("claude-stream-json"),
        verdict: ("ok", None),
        findings: Vec::new(),
        target: None,
        command: &facts.argv.join(" "),
    };
    scenario_of(recording, &origin)
}

fn readme(packed: &[Packed]) -> String {
    let mut text = String::from(
        "Recordings of agent command lines, made by clawgate. report.html shows them in a browser.\n\n\
         clawgate judge THIS.zip      what happened, and whether the contract was kept\n\
         clawgate play THIS.zip       acts as the recorded program (one recording)\n\
         clawgate mock THIS.zip       serves its answers again (one recording)\n\n\
         Unpacked, each of them alone:\n\n",
    );
    for one in packed {
        _ = writeln!(text, "{}", one.replay());
        let argv: Vec<String> =
            one.recording.facts.argv.iter().map(|word| shell_word(word).into_owned()).collect();
        _ = writeln!(text, "    recorded of: {}", argv.join(" "));
    }
    text
}

/// The page with all of them.
fn report(packed: &[Packed]) -> io::Result<String> {
    let contracts = Contracts::built_in();
    let folder = tempfile::tempdir()?;
    let page = folder.path().join("report.html");
    let wishes = [ReportRequest::to_file(Kind::Html, page.clone())];
    let mut sinks = Sinks::open(&wishes, Context::new(folder.path().to_owned()), ReportOptions::default());
    let mut finished = RunFinished::default();
    let mut started = RunStarted {
        cases: packed.len(),
        clawgate: env!("CARGO_PKG_VERSION").to_owned(),
        ..RunStarted::default()
    };
    let mut cases = Vec::new();
    for one in packed {
        let judgement = judge::recording(&one.recording, &contracts, &Options::default());
        let judgement = judgement.map_err(io::Error::other)?;
        let place = std::path::absolute(&one.folder)?;
        let mut case = RecordedFolder::as_case(&place, &one.recording, judgement, &contracts);
        case.replay = one.replay();
        finished.count(&case);
        if !started.targets.iter().any(|known| known.target == case.target) {
            let version = one.recording.facts.target_version.clone();
            started.targets.push(TargetInfo { target: case.target.clone(), version });
        }
        cases.push(case);
    }
    sinks.on_event(&Event::RunStarted(started));
    for case in cases {
        sinks.on_event(&Event::CaseFinished(Box::new(case)));
    }
    sinks.on_event(&Event::RunFinished(finished));
    sinks.finish();
    let mut text = String::new();
    File::open(&page)?.read_to_string(&mut text)?;
    Ok(text)
}
