//! What a skill refers to: linked files, and files and scripts that its text and its code name. What is not there will
//! not be there when a model follows the instructions either.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::lint::{Issue, Severity, targets};

/// Directories that skills keep their files in, as the specification and its examples name them.
const USUAL: [&str; 6] = ["scripts", "references", "reference", "assets", "templates", "resources"];
/// What a skill may call its own directory; `NAME` stands for its name.
const ROOTS: [&str; 9] = [
    "${CLAUDE_SKILL_DIR}/",
    "$CLAUDE_SKILL_DIR/",
    "{baseDir}/",
    "${SKILL_DIR}/",
    "./",
    "@",
    "${CLAUDE_PLUGIN_ROOT}/skills/NAME/",
    "~/.claude/skills/NAME/",
    ".claude/skills/NAME/",
];
/// What runs a script that is named after it.
const INTERPRETERS: [&str; 7] = ["python3", "python", "bash", "sh", "node", "ruby", "perl"];
/// Files of that name are those of the project that a skill works on.
const OF_PROJECTS: [&str; 6] =
    ["README.md", "CLAUDE.md", "AGENTS.md", "CHANGELOG.md", "CONTRIBUTING.md", "SKILL.md"];
/// After these words the name of a file is one that is to be read.
const READING: [&str; 8] = ["see", "read", "consult", "follow", "load", "open", "to", "in"];
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
                    for target in targets(line).chain(attributes(line)) {
                        self.link(target, file, number);
                    }
                    // What stands between backquotes is code.
                    for (index, part) in line.split('`').enumerate() {
                        if index % 2 == 1 {
                            self.code(part, file, number);
                        } else {
                            self.prose(part, file, number);
                        }
                    }
                    self.bare_names(line, file, number);
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

    /// Paths in a sentence: of the usual directories, and with an ending.
    fn prose(&mut self, text: &str, file: &str, line: usize) {
        let is_path = |word: &&str| {
            let word = word.trim_end_matches(['.', ',', ':', '!', '?']);
            let (path, _) = self.own(word);
            path.split_once('/').is_some_and(|(folder, rest)| {
                USUAL.contains(&folder) && rest.rsplit('/').next().is_some_and(|name| name.contains('.'))
            })
        };
        let ends = |c: char| c.is_whitespace() || "\"'();,|[]".contains(c);
        // Where links lead is looked at already.
        let mut links = text.split("](");
        let first = links.next().unwrap_or_default();
        let after = links.map(|link| link.split_once(')').map_or("", |(_, after)| after));
        let words = std::iter::once(first).chain(after).flat_map(|text| text.split(ends));
        let words: Vec<&str> = words.filter(is_path).collect();
        for word in words {
            self.code(word, file, line);
        }
    }

    /// Files that a sentence says are to be read, by their names alone. They may be the user's as well.
    fn bare_names(&mut self, line: &str, file: &str, number: usize) {
        let words: Vec<&str> = line.split_whitespace().collect();
        for pair in words.windows(2) {
            let before = pair[0].to_lowercase();
            let name = pair[1].trim_matches(|c: char| "`*_\"'.,:;!?()".contains(c));
            let is_name = name.strip_suffix(".md").is_some_and(|stem| {
                !stem.is_empty() && stem.chars().all(|c| c.is_alphanumeric() || "-_".contains(c))
            });
            if is_name && READING.contains(&before.as_str()) && !OF_PROJECTS.contains(&name) {
                let beside = Path::new(file).parent().unwrap_or(Path::new("")).join(name);
                match [beside, PathBuf::from(name)].iter().find(|place| self.folder.join(place).exists()) {
                    Some(place) => self.follow(place),
                    None => self.warn("reference-missing", name, file, number),
                }
            }
        }
    }

    /// A path below the skill's directory, however that is called, and whether it was called anything.
    fn own<'w>(&self, word: &'w str) -> (&'w str, bool) {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let strip = |(word, is_own): (&'w str, bool), root: &&str| {
            let rest = word.strip_prefix(root.replace("NAME", &name).as_str());
            rest.map_or((word, is_own), |rest| (rest, true))
        };
        ROOTS.iter().fold((word, false), strip)
    }

    /// Paths in code, and whether a script that is called by its path may be.
    fn code(&mut self, code: &str, file: &str, line: usize) {
        let separators = |c: char| c.is_whitespace() || "\"'();,|&<>=".contains(c);
        let words: Vec<&str> = code.split(separators).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            self.script(pair[0], pair[1], file, line);
        }
        for trio in words.windows(3) {
            self.module(trio, file, line);
        }
        for (index, word) in words.into_iter().enumerate() {
            let word = word.trim_end_matches(['.', ':', '!', '?']);
            let (path, _) = self.own(word);
            let Some((folder, rest)) = path.split_once('/') else { continue };
            // What begins with a slash is a path of the machine, of an API, or a tag.
            let is_own = !folder.is_empty() && (USUAL.contains(&folder) || self.folder.join(folder).is_dir());
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

    /// A script without a directory, after what runs it. It may be one that the model is to write, too.
    fn script(&mut self, runs: &str, word: &str, file: &str, line: usize) {
        let endings = [".py", ".sh", ".js", ".mjs", ".rb", ".pl"];
        let is_script = INTERPRETERS.contains(&runs)
            && !word.contains('/')
            && endings.iter().any(|ending| word.ends_with(ending))
            && !is_placeholder(word);
        if is_script && !self.folder.join(word).exists() && !self.folder.join("scripts").join(word).exists() {
            self.warn("script-missing", word, file, line);
        }
    }

    /// A module of the skill's own, as in `python -m scripts.check`.
    fn module(&mut self, words: &[&str], file: &str, line: usize) {
        let [runs, "-m", module] = words else { return };
        let path = module.replace('.', "/");
        let is_own = path.split_once('/').is_some_and(|(folder, _)| USUAL.contains(&folder));
        let exists = || self.folder.join(&path).is_dir() || self.folder.join(format!("{path}.py")).is_file();
        if runs.starts_with("python") && is_own && !is_placeholder(&path) && !exists() {
            self.tell(
                "script-dangling",
                &format!("{path}.py"),
                file,
                line,
                "is run as a module and is not there",
            );
        }
    }

    fn warn(&mut self, rule: &'static str, path: &str, file: &str, line: usize) {
        self.tell(rule, path, file, line, "is no file of the skill: say where it comes from");
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
        let is_sure = rule.ends_with("-dangling");
        let severity = if is_sure { Severity::Error } else { Severity::Warning };
        self.issues.push(Issue { rule, severity, line, message: format!("{place}`{path}` {what}") });
    }
}

/// What HTML in a line links to or shows.
fn attributes(line: &str) -> impl Iterator<Item = &str> {
    [" href=", " src="].into_iter().flat_map(|mark| line.split(mark).skip(1)).filter_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest[1..].split(quote).next()
    })
}

/// Whether a path stands for many, or for one that the reader has to choose.
fn is_placeholder(path: &str) -> bool {
    path.contains(['*', '<', '>', '{', '}', '$', '[', ']', '…'])
        || ["your_", "your-", "my_", "my-"].iter().any(|mark| path.starts_with(mark))
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
        let wide = "See [a](<my file.md>) and [b](x(1).md) and <img src=\"assets/i.png\">. Run scripts/no.py first.\n\
                    Run `python -m scripts.check x`, `sh ~/.claude/skills/NAME/scripts/far.sh`, `python3 alone.py` and see FORMS.md.\n\
                    Write `report.md`, as README.md says; @references/at.md helps.\nAsk `/v1/messages` for `</b>`.\n";
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        assert_eq!(
            told(&wide.replace("NAME", name)),
            [
                "reference-dangling Some(1) `my file.md` is linked and is not there",
                "reference-dangling Some(1) `x(1).md` is linked and is not there",
                "reference-dangling Some(1) `assets/i.png` is linked and is not there",
                "script-dangling Some(1) `scripts/no.py` is named and is not there",
                "script-dangling Some(2) `scripts/check.py` is run as a module and is not there",
                "script-dangling Some(2) `scripts/far.sh` is named and is not there",
                "script-missing Some(2) `alone.py` is no file of the skill: say where it comes from",
                "reference-missing Some(2) `FORMS.md` is no file of the skill: say where it comes from",
                "reference-dangling Some(3) `references/at.md` is named and is not there",
            ]
        );
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
