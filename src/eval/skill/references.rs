//! What a skill refers to: linked files, and files and scripts that its text and its code name. What is not there will
//! not be there when a model follows the instructions either.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::lint::{Issue, Severity, targets};

/// Directories that skills keep their files in, as the specification and its examples name them.
const USUAL: [&str; 6] = ["scripts", "references", "reference", "assets", "templates", "resources"];
/// What a skill may call its own directory.
const ROOTS: [&str; 5] = ["${CLAUDE_SKILL_DIR}/", "$CLAUDE_SKILL_DIR/", "{baseDir}/", "${SKILL_DIR}/", "./"];
/// Files that are read after `SKILL.md`, so that a circle or a large manual ends.
const MOST_FILES: usize = 64;

/// Every reference of a skill that leads nowhere. `folder` holds its `SKILL.md`.
pub(crate) fn dangling(text: &str, folder: &Path) -> Vec<Issue> {
    let mut search = Search { folder, known: BTreeSet::new(), issues: Vec::new(), next: Vec::new() };
    search.text(text, "");
    let mut read = 0;
    while let Some(path) = search.next.pop() {
        read += 1;
        if read > MOST_FILES {
            break;
        }
        let name = path.to_string_lossy().into_owned();
        if let Ok(bytes) = crate::document::read(&folder.join(&path)) {
            search.text(&String::from_utf8_lossy(&bytes), &name);
        }
    }
    search.issues
}

struct Search<'f> {
    folder: &'f Path,
    /// What was looked for, so that each is told once.
    known: BTreeSet<String>,
    issues: Vec<Issue>,
    next: Vec<PathBuf>,
}

impl Search<'_> {
    /// Looks through a file of the skill; `file` names it, and is empty for `SKILL.md`.
    fn text(&mut self, text: &str, file: &str) {
        let mut fence: Option<&str> = None;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let start = line.trim_start();
            let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
            match (fence, mark) {
                (Some(open), Some(mark)) if open == mark => fence = None,
                (None, Some(mark)) => fence = Some(mark),
                (None, None) => {
                    for target in targets(line) {
                        self.link(target, file, number);
                    }
                    // What stands between backquotes is code.
                    for code in line.split('`').skip(1).step_by(2) {
                        self.code(code, file, number);
                    }
                }
                (Some(_), _) => self.code(line, file, number),
            }
        }
    }

    fn link(&mut self, target: &str, file: &str, line: usize) {
        let path = target.split(['#', '?']).next().unwrap_or_default().replace("%20", " ");
        let is_elsewhere =
            path.is_empty() || path.starts_with('/') || path.contains("..") || path.contains(':');
        if is_elsewhere || is_placeholder(&path) {
            return;
        }
        // Links are relative to the file that holds them; some authors write them from the skill's directory.
        let beside = Path::new(file).parent().unwrap_or(Path::new("")).join(path.trim_start_matches("./"));
        let places = [beside, PathBuf::from(path.trim_start_matches("./"))];
        match places.iter().find(|place| self.folder.join(place).exists()) {
            Some(place) => self.follow(place),
            None => self.tell("reference-dangling", &path, file, line, "is linked and is not there"),
        }
    }

    /// Paths in code, and whether a script that is called by its path may be.
    fn code(&mut self, code: &str, file: &str, line: usize) {
        let separators = |c: char| c.is_whitespace() || "\"'();,|&<>=".contains(c);
        for (index, word) in code.split(separators).filter(|word| !word.is_empty()).enumerate() {
            let word = word.trim_end_matches(['.', ':', '!', '?']);
            let path = ROOTS.iter().fold(word, |word, root| word.strip_prefix(root).unwrap_or(word));
            let Some((folder, rest)) = path.split_once('/') else { continue };
            let is_own = USUAL.contains(&folder) || self.folder.join(folder).is_dir();
            if !is_own
                || rest.is_empty()
                || path.contains("..")
                || is_placeholder(path)
                || folder.contains(['.', '~'])
            {
                continue;
            }
            let found = self.folder.join(path);
            match fs::metadata(&found) {
                Err(_) => {
                    let rule = if folder == "scripts" { "script-dangling" } else { "reference-dangling" };
                    self.tell(rule, path, file, line, "is named and is not there");
                }
                // Called by its path, and not handed to an interpreter.
                Ok(facts) if index == 0 && folder == "scripts" && code.trim() != word && facts.is_file() => {
                    if facts.permissions().mode() & 0o111 == 0 {
                        self.tell(
                            "script-not-executable",
                            path,
                            file,
                            line,
                            "is called by its path and may not be run",
                        );
                    }
                }
                Ok(_) => self.follow(Path::new(path)),
            }
        }
    }

    fn follow(&mut self, path: &Path) {
        let is_text = path.extension().is_some_and(|extension| extension == "md");
        if is_text
            && path.file_name() != Some("SKILL.md".as_ref())
            && self.known.insert(format!("read {}", path.display()))
        {
            self.next.push(path.to_owned());
        }
    }

    fn tell(&mut self, rule: &'static str, path: &str, file: &str, line: usize, what: &str) {
        if !self.known.insert(format!("{rule} {path}")) {
            return;
        }
        let (line, place) =
            if file.is_empty() { (Some(line), String::new()) } else { (None, format!("{file}:{line}: ")) };
        let severity = if rule == "script-not-executable" { Severity::Warning } else { Severity::Error };
        self.issues.push(Issue { rule, severity, line, message: format!("{place}`{path}` {what}") });
    }
}

/// Whether a path stands for many, or for one that the reader has to choose.
fn is_placeholder(path: &str) -> bool {
    path.contains(['*', '<', '>', '{', '}', '$', '[', ']', '…'])
        || path.contains("...")
        || path.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_told_once_and_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("scripts/run.py", "print(1)"),
            ("scripts/go.sh", "true"),
            ("references/more.md", "See [deep](deep.md) and `scripts/lost.py`.\n[back](../SKILL.md)"),
            ("assets/a b.txt", ""),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let good = "---\nname: x\n---\n[more](references/more.md#a) [web](https://x.y/z.md) [a](assets/a%20b.txt) [top](#top)\n\
                    Run `python3 scripts/run.py <file>`, or `scripts/<name>.py`; see `scripts/run.py`.\n\
                    ```\npython3 ${CLAUDE_SKILL_DIR}/scripts/run.py out/result.json\n```\n";
        let told = |text: &str| -> Vec<String> {
            let issues = dangling(text, folder.path());
            issues.iter().map(|issue| format!("{} {:?} {}", issue.rule, issue.line, issue.message)).collect()
        };
        let below = [
            "reference-dangling None references/more.md:1: `deep.md` is linked and is not there",
            "script-dangling None references/more.md:1: `scripts/lost.py` is named and is not there",
        ];
        assert_eq!(told(good), below);
        let bad = "[gone](gone.md) [gone](gone.md)\n`scripts/gone.py`\n```sh\nscripts/go.sh now\nassets/gone.txt\n```\n";
        assert_eq!(
            told(bad),
            [
                "reference-dangling Some(1) `gone.md` is linked and is not there",
                "script-dangling Some(2) `scripts/gone.py` is named and is not there",
                "script-not-executable Some(4) `scripts/go.sh` is called by its path and may not be run",
                "reference-dangling Some(5) `assets/gone.txt` is named and is not there",
            ]
        );
    }
}
