//! A project with a skill, and the command on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::files::{self, folder_with};
use crate::support::{json_lines, process};

/// What a project is made of, gone with the value.
pub(crate) struct Project {
    folder: TempDir,
}

/// What a command said.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// The events of `--format json`.
    pub(crate) fn events(&self) -> Vec<Value> {
        json_lines(&self.stdout)
    }

    /// The report, which is the last event.
    pub(crate) fn report(&self) -> Value {
        let last = self.events().pop().unwrap_or_default();
        assert_eq!(last["type"], "eval-finished", "{}", self.stderr);
        last
    }
}

pub(crate) const SKILL: &str = "---\nname: greet\ndescription: Greets people in the manner of pirates.\n---\n\
                                Greet in the manner of pirates: begin with Ahoy.\n";

impl Project {
    /// A project with the skill `greet`.
    pub(crate) fn new() -> Self {
        Self { folder: folder_with(&[(".claude/skills/greet/SKILL.md", SKILL)]) }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        files::write(self.path(), path, text)
    }

    /// The command, ready to be started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = process(self.path());
        command.arg("eval").args(args).env("NO_PROXY", "127.0.0.1");
        // For the tests with the real CLI.
        command.envs(std::env::var_os("CLAWGATE_CLAUDE_BIN").map(|path| ("CLAWGATE_CLAUDE_BIN", path)));
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        let output = self.command(args).output().unwrap();
        Said {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Evaluates on the reference target, for programs.
    pub(crate) fn eval(&self, args: &[&str]) -> Said {
        self.run(&[&["--target", "reference", "--format", "json"], args].concat())
    }
}

/// A scripted model that uses the skill when somebody wants a greeting.
pub(crate) const MODEL: &str = r#"
[[api.turns]]
when = { prompt = "Say hello", tool_result = "manner of pirates" }
text = "Ahoy, Ann!"

[[api.turns]]
when = { prompt = "Say hello", tool_result = "way of clerks" }
text = "Good day, Ann."

[[api.turns]]
when = { prompt = "Say hello", tool_result = "Unknown skill" }
text = "Hello, Ann."

[[api.turns]]
when = { prompt = "Say hello" }
tool = { name = "Skill", input = { skill = "greet" } }

[[api.turns]]
when = { prompt = "weather" }
text = "It rains."
"#;
