//! Where skills are: `.claude/skills/<name>/SKILL.md`, and commands in `.claude/commands/<name>.md`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::spec::digest;
use crate::harness::room::RoomFile;
use crate::text::{nearest, trouble};

/// A skill on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is that of its directory or file.
    pub name: String,
    /// How it is laid out.
    pub layout: Layout,
    /// Its `SKILL.md`, or the command's file.
    pub file: PathBuf,
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
        Ok(Self { name, layout, file })
    }

    /// How it is put into a clean room, under this name. Evaluation files stay behind: they hold the answers.
    pub fn staged(&self, name: &str) -> Result<Vec<RoomFile>, DiscoverError> {
        let at = |source| DiscoverError::Io { path: self.file.clone(), source };
        if self.layout == Layout::Command {
            return Ok(vec![RoomFile::copy(format!(".claude/commands/{name}.md"), &self.file)]);
        }
        let folder = self.folder();
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).map_err(at)? {
            let entry = entry.map_err(at)?;
            let file = entry.file_name().to_string_lossy().into_owned();
            let holds_answers =
                matches!(file.as_str(), "evals" | "eval.toml" | "eval.json") || file.ends_with(".eval.json");
            if !holds_answers && !entry.file_type().map_err(at)?.is_symlink() {
                files.push(RoomFile::copy(format!(".claude/skills/{name}/{file}"), entry.path()));
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    fn folder(&self) -> PathBuf {
        self.file.parent().map(Path::to_owned).unwrap_or_default()
    }

    /// The digest of everything that is put into a clean room.
    pub fn digest(&self) -> Result<String, DiscoverError> {
        let mut texts = Vec::new();
        for file in self.staged(&self.name)? {
            if let Some(source) = &file.copy_of {
                contents(source, &mut texts)
                    .map_err(|source| DiscoverError::Io { path: self.file.clone(), source })?;
            }
        }
        Ok(digest(texts.iter().map(Vec::as_slice)))
    }
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
    let skills = entries(".claude/skills").into_iter().filter(|path| path.join("SKILL.md").is_file());
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
        let names: Vec<_> = discover(project.path()).into_iter().map(|skill| skill.name).collect();
        assert_eq!(names, ["greet", "old"]);
        let found = find("greet", &skill.join("evals")).unwrap();
        let staged: Vec<_> = found.staged("greet").unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(staged, [".claude/skills/greet/SKILL.md", ".claude/skills/greet/scripts"]);
        let before = found.digest().unwrap();
        fs::write(skill.join("evals/evals.json"), "[]").unwrap();
        assert_eq!(found.digest().unwrap(), before);
        fs::write(skill.join("scripts/run.sh"), "false").unwrap();
        assert_ne!(found.digest().unwrap(), before);
        let error = find("gret", project.path()).unwrap_err().to_string();
        assert!(error.contains("did you mean `greet`?"), "{error}");
    }
}
