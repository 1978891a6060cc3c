//! A project with a skill, and the command on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use tempfile::TempDir;

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
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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
        let project = Self { folder: TempDir::new().unwrap() };
        project.write(".claude/skills/greet/SKILL.md", SKILL);
        project
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The command, ready to be started.
    pub(crate) fn command(&self, args: &[&str]) -> Process {
        let mut command = Process::new(cargo_bin("clawgate"));
        command
            .current_dir(self.path())
            .arg("eval")
            .args(args)
            .env_remove("CLAWGATE_TARGET")
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("GITHUB_ACTIONS")
            .env_remove("GITHUB_STEP_SUMMARY")
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null());
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
