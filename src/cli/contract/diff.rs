//! `clawgate contract diff`: what a reader of the old contract can no longer rely on.

use std::fs;
use std::io::Write;
use std::path::Path;

use clap::Args;
use serde_json::json;

use crate::cli::output::typed;
use crate::cli::{CommandError, Format, FormatArg};
use crate::document;
use crate::exit_code::Outcome;
use crate::report::style::{BAD, CAUTION, FAINT, GOOD, NAME};
use crate::schema::{Bundle, CONTRACT_FILE, Diff, Effect, FileError, bundle};
use crate::text::printable;
use crate::text::trouble;

/// Compare two contracts, or two directories of JSON Schemas: each change as breaking, additive or undecided
///
/// A change is breaking when the new contract allows a message that the old one refuses; such a message is shown.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit codes: 0 nothing is breaking; 100 something is; 2 a contract cannot be read.")]
pub(super) struct DiffArgs {
    /// The old contract: a name, or the path of a contract or of a directory of .schema.json files
    #[arg(value_name = "OLD")]
    old: String,
    /// The new contract
    #[arg(value_name = "NEW")]
    new: String,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) fn run(args: &DiffArgs) -> Result<Outcome, CommandError> {
    let diff = Diff::between(&open(&args.old)?, &open(&args.new)?)?;
    let count = |effect| diff.changes.iter().filter(|change| change.effect == effect).count();
    let (breaking, undecided, additive) =
        (count(Effect::Breaking), count(Effect::Undecided), count(Effect::Additive));
    let mut out = args.format.format.stdout();
    match args.format.format {
        Format::Human => {
            for change in &diff.changes {
                let (style, word) = match change.effect {
                    Effect::Breaking => (BAD, "breaking"),
                    Effect::Undecided => (CAUTION, "undecided"),
                    Effect::Additive => (GOOD, "additive"),
                };
                let place = format!("{}{}", change.place, if change.pointer.is_empty() { "" } else { "#" });
                let place = format!("{place}{}", change.pointer);
                writeln!(
                    out,
                    "{style}{word:<9}{style:#} {NAME}{}{NAME:#}  {}",
                    printable(&place),
                    change.kind
                )?;
                writeln!(out, "          {}", printable(&change.message))?;
                if let Some(example) = &change.counter_example {
                    writeln!(
                        out,
                        "          {FAINT}new, and refused by the old: {}{FAINT:#}",
                        printable(&example.to_string())
                    )?;
                }
            }
            writeln!(out, "{breaking} breaking, {undecided} undecided, {additive} additive")?;
            if let Some(bump) = &diff.bump {
                let field = diff.version_at.as_deref().unwrap_or("the version");
                let what = if bump == "none" { "no bump".to_string() } else { format!("a {bump} bump") };
                writeln!(out, "the contract's own policy asks for {what} of {}", printable(field))?;
            }
        }
        Format::Json => {
            for change in &diff.changes {
                writeln!(out, "{}", typed("change", change)?)?;
            }
            let summary = json!({
                "type": "summary",
                "breaking": breaking,
                "undecided": undecided,
                "additive": additive,
                "bump": diff.bump,
                "version_at": diff.version_at,
            });
            writeln!(out, "{summary}")?;
        }
    }
    out.flush()?;
    Ok(Outcome::of_findings(breaking > 0))
}

/// A contract, or a plain directory of schemas.
fn open(name: &str) -> Result<Bundle, FileError> {
    let path = Path::new(name);
    if !path.is_dir() || path.join(CONTRACT_FILE).is_file() {
        return bundle(name).map(Bundle::aside);
    }
    let mut files = Vec::new();
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| FileError::whole(path.display().to_string(), trouble(&path, &error))
    };
    for entry in fs::read_dir(path).map_err(at(path))? {
        let path = entry.map_err(at(path))?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if file.ends_with(".schema.json") {
            files.push((file, document::read(&path).map_err(at(&path))?));
        }
    }
    if files.is_empty() {
        let reason = format!("neither a {CONTRACT_FILE} nor a .schema.json file in this directory");
        return Err(FileError::whole(name, reason));
    }
    Ok(Bundle::new(name, files))
}
