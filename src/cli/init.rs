//! `clawgate init`: a starter configuration, an example scenario and a CI workflow. Nothing is overwritten.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::{Failure, complain};
use crate::exit_code;
use crate::printable::printable;
use crate::report::style::{FAINT, GOOD, NAME};

/// Writes a starter configuration, an example scenario and a CI workflow
///
/// Files that are there are left as they are. Nothing is asked.
#[derive(Debug, clap::Args)]
pub(super) struct InitArgs {
    /// The project's folder
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// The workflow [default: gitlab where there is a .gitlab-ci.yml or .gitlab, else github]
    #[arg(long, value_enum, value_name = "SYSTEM")]
    ci: Option<System>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum System {
    Github,
    Gitlab,
    None,
}

const CONFIG: &str = include_str!("starter/clawgate.toml");
const EXAMPLE: &str = include_str!("starter/example.toml");
const GITHUB: &str = include_str!("starter/github.yml");
const GITLAB: &str = include_str!("starter/gitlab.yml");

/// Runs the command and returns its exit code.
pub(super) fn run(args: &InitArgs) -> Result<u8, Failure> {
    if !args.folder.is_dir() {
        return Err(Failure::Usage(format!("{} is not a folder", args.folder.display())));
    }
    let system = args.ci.unwrap_or_else(|| detected(&args.folder));
    let mut files = vec![("clawgate.toml", CONFIG), ("scenarios/example.toml", EXAMPLE)];
    match system {
        System::Github => files.push((".github/workflows/clawgate.yml", GITHUB)),
        System::Gitlab => files.push((".gitlab-ci.yml", GITLAB)),
        System::None => {}
    }
    let mut out = anstream::stdout().lock();
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
            Err(error) => {
                complain(&format!("{}: {error}", args.folder.join(name).display()));
                return Ok(exit_code::ENVIRONMENT);
            }
        }
    }
    if kept_workflow {
        writeln!(out, "\nFor the existing .gitlab-ci.yml, add this job:\n\n{GITLAB}")?;
    }
    writeln!(
        out,
        "\nNext: {NAME}clawgate run example{NAME:#}, then set `target` in clawgate.toml to what you test."
    )?;
    writeln!(out, "{FAINT}clawgate-out/ holds recordings and reports; it belongs into .gitignore.{FAINT:#}")?;
    Ok(exit_code::OK)
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
