//! The tools of the reference target.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::super::answer::text;
use super::flags::Flags;

/// What a tool answered.
pub(super) struct Outcome {
    pub(super) content: Value,
    pub(super) is_error: bool,
    pub(super) extra: Value,
}

impl Outcome {
    pub(super) fn error(message: impl Into<String>) -> Self {
        let content = message.into();
        let said = content.trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
        let extra = format!("Error: {}", said.trim_start_matches("Error: ")).into();
        Self { content: content.into(), is_error: true, extra }
    }

    fn said(content: impl Into<String>) -> Self {
        let content = content.into();
        Self { extra: json!({"stdout": content, "stderr": ""}), content: content.into(), is_error: false }
    }
}

/// Runs a tool; none when there is no such tool.
pub(super) fn run(flags: &Flags, name: &str, input: &Value) -> Option<Outcome> {
    if flags.disallowed.iter().any(|refused| refused == name) {
        return None;
    }
    Some(match name {
        "Bash" => bash(&text(&input["command"])),
        "Read" => match fs::read_to_string(text(&input["file_path"])) {
            Ok(content) => Outcome::said(content),
            Err(_) => Outcome::error("File does not exist."),
        },
        "Skill" => match super::skills::read(&text(&input["skill"])) {
            Some(_) if super::skills::is_for_users_alone(&text(&input["skill"])) => Outcome::error(format!(
                "<tool_use_error>Skill {} cannot be used with Skill tool due to disable-model-invocation</tool_use_error>",
                text(&input["skill"])
            )),
            Some(skill) => Outcome::said(skill),
            None => Outcome::error(format!("Unknown skill: {}", text(&input["skill"]))),
        },
        "Write" => {
            let path = text(&input["file_path"]);
            match fs::write(&path, text(&input["content"])) {
                Ok(()) => Outcome {
                    extra: json!({"type": "create", "filePath": path, "content": input["content"]}),
                    ..Outcome::said(format!("File created successfully at: {path}"))
                },
                Err(error) => Outcome::error(format!("{path}: {error}")),
            }
        }
        _ => return None,
    })
}

fn bash(command: &str) -> Outcome {
    let output = Command::new("/bin/sh").args(["-c", command]).stdin(Stdio::null()).output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return Outcome::error(error.to_string()),
    };
    let stdout = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    if output.status.success() {
        return Outcome {
            extra: json!({"stdout": stdout, "stderr": stderr}),
            content: stdout.into(),
            is_error: false,
        };
    }
    let code = output.status.code().unwrap_or(-1);
    let said: Vec<String> =
        [format!("Exit code {code}"), stdout, stderr].into_iter().filter(|part| !part.is_empty()).collect();
    Outcome::error(said.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_says_its_code_and_a_missing_tool_is_none() {
        let input = json!({"command": "echo out; exit 3"});
        let outcome = run(&Flags::default(), "Bash", &input).unwrap();
        assert_eq!((outcome.is_error, outcome.content), (true, "Exit code 3\nout".into()));
        assert!(!run(&Flags::default(), "Bash", &json!({"command": "true"})).unwrap().is_error);
        assert!(run(&Flags::default(), "NoSuchTool", &input).is_none());
        let disallowed = Flags { disallowed: vec!["Bash".into()], ..Flags::default() };
        assert!(run(&disallowed, "Bash", &input).is_none());
    }
}
