//! The tools of the reference target.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::super::answer::text;
use super::flags::Flags;

/// What a tool answered.
pub(super) struct Outcome {
    pub(super) content: String,
    pub(super) is_error: bool,
    pub(super) extra: Value,
}

impl Outcome {
    pub(super) fn error(message: impl Into<String>) -> Self {
        let content = message.into();
        let said = content.trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
        let extra = format!("Error: {}", said.trim_start_matches("Error: ")).into();
        Self { content, is_error: true, extra }
    }

    fn said(content: impl Into<String>) -> Self {
        let content = content.into();
        Self { extra: json!({"stdout": content, "stderr": ""}), content, is_error: false }
    }
}

/// Whether the user allowed a call. What only looks is always allowed.
pub(super) fn is_allowed(flags: &Flags, name: &str, input: &Value) -> bool {
    let mode = flags.permission_mode.as_deref().unwrap_or("default");
    if flags.bypass || mode == "bypassPermissions" || flags.allowed.iter().any(|allowed| allowed == name) {
        return true;
    }
    match name {
        "Write" | "Edit" => mode == "acceptEdits",
        "Bash" => {
            let command = text(&input["command"]);
            let first = command.split_whitespace().next().unwrap_or_default();
            let only_looks = matches!(first, "echo" | "ls" | "cat" | "true" | "pwd" | "sleep" | "exit");
            only_looks && !command.contains(['>', '|', '&'])
        }
        _ => true,
    }
}

/// Whether a rule such as `Read(./secret.txt)` forbids a call.
pub(super) fn is_forbidden(flags: &Flags, name: &str, input: &Value) -> bool {
    let path = text(&input["file_path"]);
    flags.disallowed.iter().any(|rule| {
        let pattern = rule.strip_prefix(name).and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
        pattern.is_some_and(|pattern| pattern.trim_start_matches("./") == path.trim_start_matches("./"))
    })
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
            Some(skill) => Outcome::said(skill),
            None => Outcome::error(format!("Unknown skill: {}", text(&input["skill"]))),
        },
        "Write" => {
            let path = text(&input["file_path"]);
            match fs::write(&path, text(&input["content"])) {
                Ok(()) => Outcome::said(format!("File created successfully at: {path}")),
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
            content: stdout,
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

    fn allowed(flags: &Flags, name: &str, command: &str) -> bool {
        is_allowed(flags, name, &json!({"command": command}))
    }

    #[test]
    fn what_only_looks_is_allowed() {
        let flags = Flags::default();
        assert!(allowed(&flags, "Bash", "echo hi") && allowed(&flags, "Read", ""));
        assert!(!allowed(&flags, "Bash", "echo hi > file") && !allowed(&flags, "Bash", "rm file"));
        assert!(!allowed(&flags, "Write", ""));
    }

    #[test]
    fn the_user_may_allow_more() {
        let edits = Flags { permission_mode: Some("acceptEdits".into()), ..Flags::default() };
        assert!(allowed(&edits, "Write", "") && !allowed(&edits, "Bash", "rm file"));
        let bash = Flags { allowed: vec!["Bash".into()], ..Flags::default() };
        assert!(allowed(&bash, "Bash", "rm file") && !allowed(&bash, "Write", ""));
        assert!(allowed(&Flags { bypass: true, ..Flags::default() }, "Write", ""));
    }

    #[test]
    fn a_rule_forbids_one_file() {
        let flags = Flags { disallowed: vec!["Read(./secret.txt)".into()], ..Flags::default() };
        let forbidden = |name: &str, path: &str| is_forbidden(&flags, name, &json!({"file_path": path}));
        assert!(forbidden("Read", "secret.txt"));
        assert!(!forbidden("Read", "other.txt") && !forbidden("Write", "secret.txt"));
    }

    #[test]
    fn a_failing_command_says_its_code_and_a_missing_tool_is_none() {
        let input = json!({"command": "echo out; exit 3"});
        let outcome = run(&Flags::default(), "Bash", &input).unwrap();
        assert_eq!((outcome.is_error, outcome.content.as_str()), (true, "Exit code 3\nout"));
        assert!(!run(&Flags::default(), "Bash", &json!({"command": "true"})).unwrap().is_error);
        assert!(run(&Flags::default(), "NoSuchTool", &input).is_none());
        let disallowed = Flags { disallowed: vec!["Bash".into()], ..Flags::default() };
        assert!(run(&disallowed, "Bash", &input).is_none());
    }
}
