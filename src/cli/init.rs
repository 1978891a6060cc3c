//! `clawgate init`: a starter configuration, an example scenario and a CI workflow. Nothing is overwritten.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::CommandError;
use super::error::unwritable;
use super::output::Format;
use super::project::TARGET_FOLDER;
use crate::exit_code::Outcome;
use crate::report::style::{FAINT, GOOD, NAME};
use crate::run::target::Choice;
use crate::shell::shell_word;
use crate::text::{needs_escape, printable};
use crate::version::is_whole;

/// Write a starter configuration, an example scenario and a CI workflow
///
/// Files that are there are left as they are. Nothing is asked.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  clawgate init                        # in the project's folder; GitHub Actions, or GitLab where it is used
  clawgate init --ci none              # clawgate.toml and the example only
  clawgate init --install https://git.example/clawgate
  clawgate init --install '--git https://git.example/clawgate --tag v0.1.0 clawgate'
  clawgate init --install https://git.example/releases/clawgate-0.1.0-x86_64-unknown-linux-gnu.tar.gz
  clawgate init --install https://git.example/clawgate --drift claude@2.1.325

Exit codes: 0 done; 2 there is no such folder, or nobody said where --ci gets clawgate; 3 a file cannot be written.")]
pub(super) struct InitArgs {
    /// The project's folder
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// The workflow [default: gitlab where there is a .gitlab-ci.yml or .gitlab, else github]
    #[arg(long, value_enum, value_name = "SYSTEM")]
    ci: Option<System>,
    /// Where the workflow gets clawgate from: the address of a released archive (.tar.gz) or of a repository, or what
    /// `cargo install --locked` takes. Blanks part its words unless they are in quotes; nothing in it becomes code of the
    /// workflow. Without it there is no workflow, unless the package says where it is published
    #[arg(long, value_name = "SOURCE", value_parser = one_line, allow_hyphen_values = true)]
    install: Option<String>,
    /// Also a workflow on a schedule that compares the newest release of this target with this version
    #[arg(long, value_name = "TARGET@VERSION", value_parser = pinned)]
    drift: Option<String>,
}

/// A target with the version that is relied on; nothing in it can be code of a workflow.
fn pinned(typed: &str) -> Result<String, String> {
    let is_plain = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    match typed.split_once('@') {
        Some((target, version)) if is_plain(target) && is_whole(version) => Ok(typed.to_owned()),
        _ => Err("expected a target and the whole version that you rely on, such as claude@2.1.325".into()),
    }
}

/// Where this clawgate is published, if the package names a repository. In a registry it may be or not: nobody knows
/// here.
fn published() -> Option<String> {
    let (name, version) = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    match env!("CARGO_PKG_REPOSITORY") {
        "" => None,
        repository => Some(format!("--git {repository} --tag v{version} {name}")),
    }
}

/// The command by which a CI system gets clawgate onto its `PATH`, of words as a shell takes them.
fn installation(source: &str) -> String {
    let is_address = source.contains("://") && !source.contains(' ');
    match source {
        // Where `cargo install` would put it, which is on the PATH there.
        archive if is_address && archive.trim_end_matches('\'').ends_with(".tar.gz") => format!(
            "curl --fail --silent --show-error --location {archive} | \
             tar -xz --strip-components=1 -C \"${{CARGO_HOME:-$HOME/.cargo}}/bin\" --wildcards '*/clawgate'"
        ),
        repository if is_address => format!("cargo install --locked --git {repository} clawgate"),
        words => format!("cargo install --locked {words}"),
    }
}

/// The words as a shell takes them, so that none of them is code.
fn one_line(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.chars().any(needs_escape) {
        return Err("expected one line, such as https://git.example/clawgate or --git URL clawgate".into());
    }
    // GitHub puts the value of an expression there before a shell sees any quotes.
    if text.contains("${{") {
        return Err("an expression of GitHub Actions would become code: write what it stands for".into());
    }
    let words = words(text).ok_or("a quote is not closed")?;
    Ok(words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "))
}

/// The words of a line, without their quotes; none where a quote is not closed. Nothing else means anything here.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let mut word = String::new();
        while let Some(c) = rest.chars().next().filter(|c| !c.is_whitespace()) {
            rest = &rest[c.len_utf8()..];
            if matches!(c, '\'' | '"') {
                let (quoted, after) = rest.split_once(c)?;
                word.push_str(quoted);
                rest = after;
            } else {
                word.push(c);
            }
        }
        words.push(word);
        rest = rest.trim_start();
    }
    Some(words)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum System {
    Github,
    Gitlab,
    None,
}

/// What editors check the files by: the first line of each names its schema.
const SCHEMAS: [(&str, &str); 8] = [
    (".clawgate/config.schema.json", include_str!("../../schemas/clawgate/config.schema.json")),
    (".clawgate/scenario.schema.json", include_str!("../../schemas/clawgate/files/scenario.schema.json")),
    (".clawgate/target.schema.json", include_str!("../../schemas/clawgate/files/target.schema.json")),
    (".clawgate/contract.schema.json", include_str!("../../schemas/clawgate/files/contract.schema.json")),
    (".clawgate/eval.schema.json", include_str!("../../schemas/clawgate/files/eval.schema.json")),
    (".clawgate/consumer.schema.json", include_str!("../../schemas/clawgate/files/consumer.schema.json")),
    (
        ".clawgate/known-failures.schema.json",
        include_str!("../../schemas/clawgate/files/known-failures.schema.json"),
    ),
    (
        ".clawgate/known-changes.schema.json",
        include_str!("../../schemas/clawgate/files/known-changes.schema.json"),
    ),
];

const CONFIG: &str = include_str!("starter/clawgate.toml");
const EXAMPLE: &str = include_str!("starter/example.toml");
const GITHUB: &str = include_str!("starter/github.yml");
const GITHUB_DRIFT: &str = include_str!("starter/github-drift.yml");
const GITLAB: &str = include_str!("starter/gitlab.yml");
const GITLAB_DRIFT: &str = include_str!("starter/gitlab-drift.yml");

pub(super) fn run(args: &InitArgs) -> Result<Outcome, CommandError> {
    if !args.folder.is_dir() {
        let reason = "is not a folder: name the project's, or make it first";
        return Err(CommandError::Usage(format!("{} {reason}", args.folder.display())));
    }
    if let Some((target, _)) = args.drift.as_ref().and_then(|drift| drift.split_once('@')) {
        Choice::parse(target, Some(&args.folder.join(TARGET_FOLDER)))
            .map_err(|error| CommandError::Usage(format!("--drift: {error}")))?;
    }
    let source = args.install.clone().or_else(published);
    let system = match (args.ci, &source) {
        (Some(system), None) if system != System::None => {
            let reason =
                "--ci needs --install SOURCE: the address of clawgate's repository, or of a released archive";
            return Err(CommandError::Usage(reason.into()));
        }
        (None, None) => System::None,
        (asked, _) => asked.unwrap_or_else(|| detected(&args.folder)),
    };
    let install = installation(source.as_deref().unwrap_or_default());
    let workflow = |text: &str| text.replace("{install}", &install);
    let watched = |text: &str| args.drift.as_ref().map(|drift| workflow(text).replace("{drift}", drift));
    let (github, github_drift) = (workflow(GITHUB), watched(GITHUB_DRIFT));
    let gitlab = workflow(GITLAB) + &watched(GITLAB_DRIFT).unwrap_or_default();
    let mut files = vec![("clawgate.toml", CONFIG), ("scenarios/example.toml", EXAMPLE)];
    match system {
        System::Github => {
            files.push((".github/workflows/clawgate.yml", &github));
            files.extend(github_drift.as_deref().map(|text| (".github/workflows/clawgate-drift.yml", text)));
        }
        System::Gitlab => files.push((".gitlab-ci.yml", &gitlab)),
        System::None if args.drift.is_some() => {
            let reason = "--drift writes a workflow: it needs --install SOURCE, and a --ci that is not none";
            return Err(CommandError::Usage(reason.into()));
        }
        System::None => {}
    }
    // They are clawgate's own, and as new as it is.
    for (name, text) in SCHEMAS {
        let path = args.folder.join(name);
        let written = fs::create_dir_all(args.folder.join(".clawgate")).and_then(|()| fs::write(&path, text));
        written.map_err(unwritable(&path))?;
    }
    let mut out = Format::Human.stdout();
    writeln!(
        out,
        "{GOOD}wrote{GOOD:#} .clawgate/*.schema.json {FAINT}(editors check your files by them){FAINT:#}"
    )?;
    let mut kept_workflow = false;
    for (name, text) in files {
        match create(&args.folder.join(name), text) {
            Ok(true) => writeln!(out, "{GOOD}wrote{GOOD:#} {}", printable(name))?,
            Ok(false) => {
                kept_workflow |= name == ".gitlab-ci.yml";
                writeln!(
                    out,
                    "{FAINT}kept{FAINT:#}  {} {FAINT}(it is there already){FAINT:#}",
                    printable(name)
                )?;
            }
            Err(error) => return Err(unwritable(&args.folder.join(name))(error)),
        }
    }
    if kept_workflow {
        writeln!(out, "\nFor the existing .gitlab-ci.yml, add this job:\n\n{gitlab}")?;
    }
    writeln!(
        out,
        "\nNext: {NAME}clawgate run example{NAME:#}, then set `target` in clawgate.toml to what you test."
    )?;
    let note = match system {
        System::None if args.ci.is_none() => {
            "No workflow was written: `clawgate init --install SOURCE` writes one, SOURCE being the address of clawgate's \
             repository or of a released archive."
                .to_owned()
        }
        System::None => String::new(),
        System::Github | System::Gitlab => format!("CI gets clawgate by `{}`.", printable(&install)),
    };
    if !note.is_empty() {
        writeln!(out, "{FAINT}{note}{FAINT:#}")?;
    }
    writeln!(out, "{FAINT}clawgate-out/ holds recordings and reports; it belongs into .gitignore.{FAINT:#}")?;
    Ok(Outcome::Ok)
}

/// The CI system that the project uses already.
fn detected(folder: &Path) -> System {
    let gitlab = folder.join(".gitlab-ci.yml").exists() || folder.join(".gitlab").is_dir();
    if gitlab && !folder.join(".github").is_dir() { System::Gitlab } else { System::Github }
}

/// Writes a file that is not there; says whether it did.
fn create(path: &Path, text: &str) -> io::Result<bool> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::File::create_new(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
