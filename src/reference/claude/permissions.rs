//! What the reference target may do without asking, by the rules of the Claude CLI as 2.1.197 and 2.1.325 were seen to keep
//! them.

use serde_json::Value;

use super::super::answer::text;
use super::flags::Flags;
use super::skills;

/// Commands that only look, whatever their arguments are.
const LOOKS: [&str; 8] = ["echo", "ls", "cat", "true", "pwd", "sleep", "exit", "head"];
/// Commands that change files, which whoever accepts edits accepts too.
const EDITS: [&str; 6] = ["mkdir", "touch", "rm", "mv", "cp", "sed"];

/// Whether the user allowed a call. What only looks is always allowed.
pub(super) fn is_allowed(flags: &Flags, name: &str, input: &Value) -> bool {
    let mode = flags.permission_mode.as_deref().unwrap_or("default");
    if flags.bypass || mode == "bypassPermissions" || flags.allowed.iter().any(|allowed| allowed == name) {
        return true;
    }
    match name {
        "Write" | "Edit" => {
            mode == "acceptEdits" || flags.allowed.iter().any(|rule| names_file(rule, name, input))
        }
        "Bash" => {
            let command = text(&input["command"]);
            let (parts, redirects) = parts(&command);
            let is_plain = |part: &str| {
                let first = part.split_whitespace().next().unwrap_or_default();
                let asks_version = part.split_whitespace().nth(1) == Some("--version")
                    && part.split_whitespace().count() == 2;
                LOOKS.contains(&first) || asks_version || (mode == "acceptEdits" && EDITS.contains(&first))
            };
            let allows = |part: &str| flags.allowed.iter().any(|rule| covers(rule, part));
            (!redirects || mode == "acceptEdits") && parts.iter().all(|part| is_plain(part) || allows(part))
        }
        // A skill that brings permissions of its own is asked about.
        "Skill" => {
            let skill = text(&input["skill"]);
            let named = format!("Skill({skill})");
            skills::wanted_tools(&skill).is_empty() || flags.allowed.contains(&named)
        }
        // A rule may be for all tools of a server.
        _ if name.starts_with("mcp__") => flags
            .allowed
            .iter()
            .any(|allowed| name.strip_prefix(allowed.as_str()).is_some_and(|rest| rest.starts_with("__"))),
        _ => true,
    }
}

/// Whether a rule such as `Read(./secret.txt)` or `Bash(rm:*)` forbids a call.
pub(super) fn is_forbidden(flags: &Flags, name: &str, input: &Value) -> bool {
    if name == "Bash" {
        let command = text(&input["command"]);
        let (parts, _) = parts(&command);
        return parts.iter().any(|part| {
            // A setting before a command hides nothing.
            let bare =
                part.split_whitespace().skip_while(|word| is_setting(word)).collect::<Vec<_>>().join(" ");
            flags.disallowed.iter().any(|rule| covers(rule, &bare))
        });
    }
    flags.disallowed.iter().any(|rule| names_file(rule, name, input))
}

/// Whether a rule is about this tool and the file of this call.
fn names_file(rule: &str, name: &str, input: &Value) -> bool {
    let path = text(&input["file_path"]);
    let pattern = rule.strip_prefix(name).and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
    pattern.is_some_and(|pattern| pattern.trim_start_matches("./") == path.trim_start_matches("./"))
}

fn is_setting(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Whether a rule such as `Bash(python3:*)`, `Bash(python3 *)` or `Bash(make all)` covers a command.
fn covers(rule: &str, command: &str) -> bool {
    let Some(pattern) = rule.strip_prefix("Bash(").and_then(|rest| rest.strip_suffix(')')) else {
        return false;
    };
    let prefix = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
    match prefix {
        None => pattern == command,
        Some(prefix) => {
            command.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        }
    }
}

/// The commands of a line, and whether one of them writes into a file.
fn parts(line: &str) -> (Vec<String>, bool) {
    let (mut parts, mut part, mut quote, mut redirects) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '&' | '|' | ';' | '\n') => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            (None, '>') => redirects = true,
            _ => {}
        }
        part.push(c);
    }
    parts.push(part);
    let parts = parts.iter().map(|part| part.split('>').next().unwrap_or_default().trim().to_owned());
    (parts.filter(|part| !part.is_empty()).collect(), redirects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn flags(allowed: &[&str], disallowed: &[&str], mode: Option<&str>) -> Flags {
        let all = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
        let permission_mode = mode.map(str::to_owned);
        Flags { allowed: all(allowed), disallowed: all(disallowed), permission_mode, ..Flags::default() }
    }

    fn may(flags: &Flags, command: &str) -> bool {
        let input = json!({"command": command});
        !is_forbidden(flags, "Bash", &input) && is_allowed(flags, "Bash", &input)
    }

    /// As the real CLI answered, versions 2.1.197 and 2.1.325.
    #[test]
    fn patterns_are_kept_as_the_real_cli_keeps_them() {
        let commands = [
            "python3 -c 1",
            "python3 -c 1 && touch q",
            "python3 -c 1; python3 -c 2",
            "python3x -c 1",
            "A=1 python3 -c 1",
            "python3 -c 1 > o.txt",
            "python3 --version",
            "python3 -c 1 | cat",
            "echo hi",
            "touch q",
        ];
        for (flags, expected) in [
            (flags(&[], &[], None), "......+.+."),
            (flags(&["Bash(python3:*)"], &[], None), "+.+...+++."),
            (flags(&["Bash(python3 *)"], &[], None), "+.+...+++."),
            (flags(&["Bash(touch q)"], &[], None), "......+.++"),
            (flags(&["Bash"], &[], None), "++++++++++"),
            (flags(&["Bash"], &["Bash(python3:*)"], None), "...+....++"),
            (flags(&[], &[], Some("acceptEdits")), "......+.++"),
            (flags(&[], &[], Some("bypassPermissions")), "++++++++++"),
        ] {
            let found: String =
                commands.iter().map(|command| if may(&flags, command) { '+' } else { '.' }).collect();
            assert_eq!(found, expected, "{flags:?}");
        }
    }

    #[test]
    fn files_are_written_where_edits_are_accepted_and_read_unless_forbidden() {
        let write = json!({"file_path": "a.txt"});
        assert!(
            !is_allowed(&Flags::default(), "Write", &write) && is_allowed(&Flags::default(), "Read", &write)
        );
        assert!(is_allowed(&flags(&[], &[], Some("acceptEdits")), "Write", &write));
        assert!(is_allowed(&flags(&["Write(./a.txt)"], &[], None), "Write", &write));
        assert!(is_allowed(&Flags { bypass: true, ..Flags::default() }, "Write", &write));
        let rule = flags(&[], &["Read(./secret.txt)"], None);
        assert!(is_forbidden(&rule, "Read", &json!({"file_path": "secret.txt"})));
        assert!(!is_forbidden(&rule, "Write", &json!({"file_path": "secret.txt"})));
    }
}
