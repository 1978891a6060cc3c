//! Where skills are: `.claude/skills/<name>/SKILL.md`, and commands in `.claude/commands/<name>.md`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::spec::digest;
use super::frontmatter::{is_for_models_alone, with_description};
use crate::harness::room::RoomFile;
use crate::text::{nearest, trouble};

/// Where the Claude CLI looks for skills.
const SKILLS: &str = ".claude/skills";

/// A skill on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is that of its directory or file.
    pub name: String,
    /// How it is laid out.
    pub layout: Layout,
    /// Its `SKILL.md`, or the command's file.
    pub file: PathBuf,
    /// A description that takes the place of its own.
    pub description: Option<String>,
    /// Files and folders that stay behind, since they hold answers: the evaluation, its graders, earlier results.
    pub answers: Vec<PathBuf>,
}

/// How a skill is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A directory with a `SKILL.md`.
    Skill,
    /// A single file, below `.claude/commands`.
    Command,
}

/// Why a skill is not found.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// There is none of that name.
    #[error("no skill `{name}` in .claude/skills or .claude/commands of {} or above{hint}", from.display())]
    Missing {
        name: String,
        /// Where the search began.
        from: PathBuf,
        /// What may have been meant.
        hint: String,
    },
    /// The target has no place for it.
    #[error(
        "`{0}` is a command of the Claude CLI, and the target knows skills only: a directory with SKILL.md"
    )]
    NoCommands(String),
    /// It cannot be read.
    #[error("{}: {}", path.display(), trouble(path, source))]
    Io {
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Skill {
    /// The skill in a directory, a `SKILL.md`, or a command's file.
    pub fn at(path: &Path) -> Result<Self, DiscoverError> {
        let file = if path.is_dir() { path.join("SKILL.md") } else { path.to_owned() };
        let real =
            fs::canonicalize(&file).map_err(|source| DiscoverError::Io { path: file.clone(), source })?;
        let is_skill = real.file_name().is_some_and(|name| name == "SKILL.md");
        let named = if is_skill { real.parent().and_then(Path::file_name) } else { real.file_stem() };
        let name = named.unwrap_or_default().to_string_lossy().into_owned();
        let layout = if is_skill { Layout::Skill } else { Layout::Command };
        Ok(Self { name, layout, file, description: None, answers: Vec::new() })
    }

    /// How it is put into a clean room, under this name, where the target looks for skills. Evaluation files stay behind: they
    /// hold the answers.
    pub fn staged(&self, name: &str, skills: &str) -> Result<Vec<RoomFile>, DiscoverError> {
        let at = |source| DiscoverError::Io { path: self.file.clone(), source };
        if self.layout == Layout::Command {
            if skills != SKILLS {
                return Err(DiscoverError::NoCommands(self.name.clone()));
            }
            return Ok(vec![RoomFile::copy(format!(".claude/commands/{name}.md"), &self.file)]);
        }
        let folder = self.folder();
        let mut files = Vec::new();
        stage(&folder, &format!("{skills}/{name}"), &self.answers, &mut files).map_err(at)?;
        let home = format!("{skills}/{name}/");
        files.retain(|file| file.path.strip_prefix(&home).is_none_or(|name| !holds_answers(name)));
        if let Some(description) = &self.description {
            let text = fs::read_to_string(&self.file).map_err(at)?;
            let path = format!("{skills}/{name}/SKILL.md");
            files.retain(|file| file.path != path);
            files.push(RoomFile::new(path, with_description(&text, description)));
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// Whether only models may call it.
    pub(crate) fn is_unlisted(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|text| is_for_models_alone(&text))
    }

    fn folder(&self) -> PathBuf {
        self.file.parent().map(Path::to_owned).unwrap_or_default()
    }

    /// The digest of everything that is put into a clean room.
    pub fn digest(&self) -> Result<String, DiscoverError> {
        let mut texts = Vec::new();
        for file in self.staged(&self.name, SKILLS)? {
            if let Some(source) = &file.copy_of {
                contents(source, &mut texts)
                    .map_err(|source| DiscoverError::Io { path: self.file.clone(), source })?;
            } else {
                texts.push(file.text.clone().into_bytes());
            }
        }
        Ok(digest(texts.iter().map(Vec::as_slice)))
    }
}

/// Whether the name of something in a skill's directory says that it is about evaluations.
fn holds_answers(name: &str) -> bool {
    let top = name.split('/').next().unwrap_or_default();
    matches!(top, "evals" | "eval.toml" | "eval.json" | "clawgate-out") || top.ends_with(".eval.json")
}

/// Everything in a folder but links and what stays behind; folders as a whole where nothing in them does.
fn stage(folder: &Path, to: &str, answers: &[PathBuf], files: &mut Vec<RoomFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_symlink() || answers.contains(&path) {
            continue;
        }
        let place = format!("{to}/{}", entry.file_name().to_string_lossy());
        if answers.iter().any(|answer| answer.starts_with(&path)) {
            stage(&path, &place, answers, files)?;
        } else {
            files.push(RoomFile::copy(place, path));
        }
    }
    Ok(())
}

fn contents(path: &Path, texts: &mut Vec<Vec<u8>>) -> io::Result<()> {
    if !path.is_dir() {
        texts.push(path.file_name().unwrap_or_default().as_encoded_bytes().to_vec());
        texts.push(fs::read(path)?);
        return Ok(());
    }
    let mut entries = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries.iter().filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink())) {
        contents(&entry.path(), texts)?;
    }
    Ok(())
}

/// The skills and commands of a project, by name.
pub(crate) fn discover(project: &Path) -> Vec<Skill> {
    let entries = |folder: &str| {
        let mut entries: Vec<PathBuf> = fs::read_dir(project.join(folder))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        entries.sort();
        entries
    };
    let skills = entries(SKILLS).into_iter().filter(|path| path.join("SKILL.md").is_file());
    let commands = entries(".claude/commands")
        .into_iter()
        .filter(|path| path.is_file() && path.extension().is_some_and(|extension| extension == "md"));
    skills.chain(commands).filter_map(|path| Skill::at(&path).ok()).collect()
}

/// The skill of that name, in this directory's project or in one above it.
pub(crate) fn find(name: &str, from: &Path) -> Result<Skill, DiscoverError> {
    let start =
        fs::canonicalize(from).map_err(|source| DiscoverError::Io { path: from.to_owned(), source })?;
    let mut known = Vec::new();
    for project in start.ancestors() {
        for skill in discover(project) {
            if skill.name == name {
                return Ok(skill);
            }
            known.push(skill.name);
        }
    }
    let hint = nearest(name, known.iter().map(String::as_str))
        .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    Err(DiscoverError::Missing { name: name.to_owned(), from: from.to_owned(), hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_and_commands_are_found_from_below_and_staged_without_the_answers() {
        let project = tempfile::tempdir().unwrap();
        let skill = project.path().join(".claude/skills/greet");
        fs::create_dir_all(skill.join("evals")).unwrap();
        fs::create_dir_all(skill.join("scripts")).unwrap();
        fs::create_dir_all(project.path().join(".claude/commands")).unwrap();
        for (path, text) in [
            ("SKILL.md", "---\nname: greet\n---\n"),
            ("scripts/run.sh", "true"),
            ("evals/evals.json", "{}"),
            ("SKILL.eval.json", "{}"),
            ("../../commands/old.md", "Do it."),
        ] {
            fs::write(skill.join(path), text).unwrap();
        }
        fs::create_dir_all(skill.join("refs/graders")).unwrap();
        fs::write(skill.join("refs/graders/grade.py"), "").unwrap();
        fs::write(skill.join("refs/terms.md"), "").unwrap();
        let names: Vec<_> = discover(project.path()).into_iter().map(|skill| skill.name).collect();
        assert_eq!(names, ["greet", "old"]);
        let found = find("greet", &skill.join("evals")).unwrap();
        let staged: Vec<_> =
            found.staged("greet", SKILLS).unwrap().into_iter().map(|file| file.path).collect();
        let home = ".claude/skills/greet/";
        assert_eq!(staged, ["SKILL.md", "refs", "scripts"].map(|name| format!("{home}{name}")));
        // What the evaluation names stays behind wherever it is.
        let grader = fs::canonicalize(skill.join("refs/graders/grade.py")).unwrap();
        let without = Skill { answers: vec![grader], ..found.clone() };
        let staged: Vec<_> =
            without.staged("greet", SKILLS).unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(staged, ["SKILL.md", "refs/terms.md", "scripts"].map(|name| format!("{home}{name}")));
        let before = found.digest().unwrap();
        fs::write(skill.join("evals/evals.json"), "[]").unwrap();
        assert_eq!(found.digest().unwrap(), before);
        fs::write(skill.join("scripts/run.sh"), "false").unwrap();
        assert_ne!(found.digest().unwrap(), before);
        let error = find("gret", project.path()).unwrap_err().to_string();
        assert!(error.contains("did you mean `greet`?"), "{error}");
    }
}
