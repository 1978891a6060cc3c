//! What the reference target may do without asking, by the rules of the Claude CLI as 2.1.197 and 2.1.325 were seen to keep
//! them.

use serde_json::Value;

use super::super::answer::text;
use super::flags::Flags;
use super::skills;
use crate::text::glob;

/// Commands that only look, whatever their arguments are.
const LOOKS: [&str; 10] = ["echo", "ls", "cat", "true", "pwd", "sleep", "exit", "head", "find", "wc"];
/// Commands that change files, which whoever accepts edits accepts too.
const EDITS: [&str; 6] = ["mkdir", "touch", "rm", "mv", "cp", "sed"];

/// Whether the user allowed a call. What only looks is always allowed.
pub(super) fn is_allowed(flags: &Flags, name: &str, input: &Value) -> bool {
    let mode = flags.permission_mode.as_deref().unwrap_or("default");
    let is_all = |rule: &String| {
        rule == name || rule.strip_prefix(name).is_some_and(|rest| matches!(rest, "(*)" | "()"))
    };
    if flags.bypass || mode == "bypassPermissions" || flags.allowed.iter().any(is_all) {
        return true;
    }
    match name {
        // Paths are named in rules of `Edit` alone, for whatever writes.
        "Write" | "Edit" => {
            mode == "acceptEdits" || flags.allowed.iter().any(|rule| names_file(rule, "Edit", input))
        }
        "Bash" => {
            let command = text(&input["command"]);
            let line = Line::read(&command);
            let is_plain = |part: &str| {
                let mut words = part.split_whitespace();
                let first = words.next().unwrap_or_default();
                let asks_version = words.next() == Some("--version") && words.next().is_none();
                LOOKS.contains(&first) || asks_version || (mode == "acceptEdits" && EDITS.contains(&first))
            };
            let allows = |part: &str| flags.allowed.iter().any(|rule| covers(rule, part));
            let is_exact = flags.allowed.iter().any(|rule| rule_of_bash(rule) == Some(command.as_str()));
            is_exact
                || (!line.hides
                    && (!line.redirects || mode == "acceptEdits")
                    && line.parts.iter().all(|part| is_plain(part) || allows(part)))
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
        return Line::read(&command).parts.iter().any(|part| {
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

fn rule_of_bash(rule: &str) -> Option<&str> {
    rule.strip_prefix("Bash(")?.strip_suffix(')')
}

/// Whether a rule such as `Bash(python3:*)`, `Bash(python3 *)`, `Bash(* --help)` or `Bash(make all)` covers a command.
fn covers(rule: &str, command: &str) -> bool {
    let Some(pattern) = rule_of_bash(rule) else { return false };
    let is_begun_by = |prefix: &str| {
        command.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    match pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *")) {
        Some(prefix) if !prefix.contains('*') => is_begun_by(prefix),
        _ if pattern.contains('*') => glob(pattern, command),
        _ => pattern == command,
    }
}

/// A command line, as far as permissions are about it.
#[derive(Default)]
struct Line {
    /// Its commands.
    parts: Vec<String>,
    /// Whether one of them writes into a file.
    redirects: bool,
    /// Whether something is run that is no part: a command inside another, a subshell, work in the background.
    hides: bool,
}

impl Line {
    fn read(line: &str) -> Self {
        let (mut read, mut part, mut quote) = (Self::default(), String::new(), None);
        let mut rest = line.chars().peekable();
        let mut last = ' ';
        while let Some(c) = rest.next() {
            match (quote, c) {
                (Some(open), _) if c == open => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None | Some('"'), '`') => read.hides = true,
                (None | Some('"'), '$') if rest.peek() == Some(&'(') => read.hides = true,
                (None, '(') if part.trim().is_empty() => read.hides = true,
                (None, '>') => {
                    read.redirect(&mut part, &mut rest);
                    last = c;
                    continue;
                }
                (None, '&' | '|' | ';' | '\n') => {
                    // A `&` alone leaves what stands before it in the background.
                    read.hides |= c == '&' && last != '&' && rest.peek() != Some(&'&');
                    read.end(&mut part);
                    last = c;
                    continue;
                }
                _ => {}
            }
            part.push(c);
            last = c;
        }
        read.end(&mut part);
        read
    }

    /// Takes a redirection out of a part. Into nothing, or into another stream, is none.
    fn redirect(&mut self, part: &mut String, rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
        if part.ends_with(|c: char| c.is_ascii_digit())
            && part.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with(' ')
        {
            part.truncate(part.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        }
        while rest.next_if(|c| matches!(c, '>' | ' ')).is_some() {}
        let mut to = String::new();
        while let Some(c) =
            rest.next_if(|c| !c.is_whitespace() && !matches!(c, ';' | '|') && (to.is_empty() || *c != '&'))
        {
            to.push(c);
        }
        self.redirects |= to != "/dev/null" && !to.starts_with('&');
    }

    fn end(&mut self, part: &mut String) {
        let text = std::mem::take(part);
        let text = text.trim();
        // A limit of time changes nothing about what is run.
        let limited =
            text.strip_prefix("timeout ").and_then(|rest| Some(rest.trim_start().split_once(' ')?.1));
        let text = limited.unwrap_or(text).trim();
        if !text.is_empty() {
            self.parts.push(text.to_owned());
        }
    }
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

    /// As the real CLI answered.
    #[test]
    fn commands_are_told_from_what_stands_around_them() {
        let commands = [
            "mkdir -p a",
            "mkdir -p b && touch b/q",
            "touch q",
            "touch q.txt",
            "touch q.txt r",
            "touch q | cat",
            "FOO=1 touch q",
            "touch $(echo q)",
            "touch q > o.txt",
            "touch q 2>&1",
            "touch q > /dev/null",
            "(touch q)",
            "timeout 5 touch q",
            "bash -c 'touch q'",
            "touch q &",
            "touch 'a;b'",
            "mkdir -p a && touch b",
            "touch a\ntouch b",
            "find . -name x",
        ];
        for (rules, expected) in [
            (&[][..], "..................+"),
            (&["Bash(mkdir -p:*)"], "+.................+"),
            (&["Bash(mkdir*)"], "+.................+"),
            (&["Bash(*)"], "+++++++++++++++++++"),
            (&["Bash()"], "+++++++++++++++++++"),
            (&["Bash(touch q)"], "..+..+...++.+.....+"),
            (&["Bash(touch *.txt)"], "...+..............+"),
            (&["Bash(touch:*)"], "..++++...++.+..+.++"),
            (&["Bash(* q)"], "..+..++..++.+.....+"),
            (&["Bash(mkdir -p a && touch b)"], "................+.+"),
            (&["Bash(touch)"], "..................+"),
            (&["bash(touch:*)"], "..................+"),
            (&["Bash(touch:*)", "Bash(mkdir:*)"], "++++++...++.+..++++"),
        ] {
            let flags = flags(rules, &[], None);
            let found: String =
                commands.iter().map(|command| if may(&flags, command) { '+' } else { '.' }).collect();
            assert_eq!(found, expected, "{rules:?}");
        }
    }

    #[test]
    fn files_are_written_where_edits_are_accepted_and_read_unless_forbidden() {
        let write = json!({"file_path": "a.txt"});
        assert!(
            !is_allowed(&Flags::default(), "Write", &write) && is_allowed(&Flags::default(), "Read", &write)
        );
        assert!(is_allowed(&flags(&[], &[], Some("acceptEdits")), "Write", &write));
        for (rule, expected) in [
            ("Edit(a.txt)", true),
            ("Write", true),
            ("Write(*)", true),
            ("Edit", false),
            ("Write(a.txt)", false),
            ("Write(*.txt)", false),
        ] {
            assert_eq!(is_allowed(&flags(&[rule], &[], None), "Write", &write), expected, "{rule}");
        }
        assert!(is_allowed(&Flags { bypass: true, ..Flags::default() }, "Write", &write));
        let rule = flags(&[], &["Read(./secret.txt)"], None);
        assert!(is_forbidden(&rule, "Read", &json!({"file_path": "secret.txt"})));
        assert!(!is_forbidden(&rule, "Write", &json!({"file_path": "secret.txt"})));
    }
}
