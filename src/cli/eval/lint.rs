//! `clawgate eval lint`: skills held against the agentskills.io specification.

use std::io::Write as _;
use std::path::PathBuf;

use serde_json::json;

use crate::cli::error::unreadable;
use crate::cli::{CommandError, Format};
use crate::document;
use crate::eval::skill::{Severity, dangling, discover, lint};
use crate::exit_code::Outcome;
use crate::report::style::{BAD, CAUTION, GOOD, NAME};
use crate::text::printable;

/// Lints the skills at these paths.
pub(super) fn lint_skills(paths: &[PathBuf], strict: bool, format: Format) -> Result<Outcome, CommandError> {
    let mut files = Vec::new();
    for path in paths {
        let is_project = path.is_dir() && !path.join("SKILL.md").is_file();
        if is_project {
            files.extend(discover(path).into_iter().map(|skill| skill.file));
        } else {
            files.push(if path.is_dir() { path.join("SKILL.md") } else { path.clone() });
        }
    }
    if files.is_empty() {
        let places: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(CommandError::NothingSelected(format!(
            "{}: there is no SKILL.md in it, no skill in .claude/skills and no command in .claude/commands",
            places.join(", ")
        )));
    }
    let mut out = format.stdout();
    let mut outcome = Outcome::Ok;
    for file in &files {
        let bytes = document::read(file).map_err(unreadable(file))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| CommandError::Usage(format!("{}: not UTF-8", file.display())))?;
        // The directory's real name, also when the path is `.`.
        let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.clone());
        let mut issues = lint(&text, &real);
        if let Some(folder) = real.parent().filter(|_| real.ends_with("SKILL.md")) {
            issues.extend(dangling(&text, folder));
        }
        let fails = |severity: Severity| severity == Severity::Error || strict;
        let passed = !issues.iter().any(|issue| fails(issue.severity));
        outcome.add(Outcome::of_findings(!passed));
        if format == Format::Json {
            let value = json!({"type": "lint", "schema_version": 1, "skill": file, "passed": passed, "issues": issues});
            writeln!(out, "{value}")?;
            continue;
        }
        let (style, word) = if passed { (GOOD, "pass") } else { (BAD, "FAIL") };
        writeln!(out, "{style}{word}{style:#} {NAME}{}{NAME:#}", printable(&file.display().to_string()))?;
        for issue in &issues {
            let line = issue.line.map_or(String::new(), |line| format!("line {line}: "));
            let (style, word) =
                if issue.severity == Severity::Error { (BAD, "error") } else { (CAUTION, "warning") };
            writeln!(out, "  {style}{word}{style:#} {}: {line}{}", issue.rule, printable(&issue.message))?;
        }
    }
    out.flush()?;
    Ok(outcome)
}
