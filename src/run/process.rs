//! How a target was started and how it ended, as whoever has to mend it wants to see it.

#[cfg(feature = "cli")]
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::recording::{Exit, Facts, Recording, STDIN};
use crate::shell::shell_word;
use crate::text::{clip, visible};

/// Lines of standard error that are told, and characters of each.
const STDERR_LINES: usize = 10;
const STDERR_WIDTH: usize = 300;
/// How much of the end of standard error is looked at for them.
const STDERR_TAIL: u64 = 64 << 10;
/// Characters of one argument, and of all of them.
const LONGEST_WORD: usize = 400;
const LONGEST_COMMAND: usize = 2000;
/// A longer standard input is read from the recording, not written into the command.
const LONGEST_STDIN: usize = 200;

/// A line that is pasted must never reach a real API with a real key. So it starts from an empty environment in an empty
/// home, asks a port of this machine where nobody listens, and has a key that is none.
const EMPTY: &str = "room=$(mktemp -d) && ";
const ROOM: &str = "\"$room\"";
const NO_API: &str = "http://127.0.0.1:9";
const NO_KEY: &str = "not-a-key";

/// How a target was started and how it ended. Every text in it is one line that can be shown anywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Process {
    /// The command line for a shell, with the settings that change behaviour. In place of the clean room there is an
    /// empty folder, in place of the scripted API a port where nobody listens, and credentials are none: whoever pastes
    /// it asks no real API. Empty where it is not known.
    pub command: String,
    /// How it ended, in words. Empty where it is not known.
    pub exit: String,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// The timer of the harness that ended it.
    pub timer: Option<String>,
    /// The last lines of standard error.
    pub stderr: Vec<String>,
    /// Whether there are more lines before them.
    pub more_stderr: bool,
}

impl Process {
    /// The process of a recording.
    pub(crate) fn of(recording: &Recording) -> Self {
        // What cannot be read is not told; a report is no place to fail.
        let (stderr, cut) = recording.stderr_tail(STDERR_TAIL).unwrap_or_default();
        let process = Self::ended(&recording.facts.exit, &stderr);
        Self { command: command(recording), more_stderr: process.more_stderr || cut, ..process }
    }

    /// A process of which nothing is known but how it ended and what it wrote to standard error.
    pub(crate) fn ended(exit: &Exit, stderr: &[u8]) -> Self {
        let (stderr, more_stderr) = last_lines(stderr);
        Self {
            exit: if *exit == Exit::default() { String::new() } else { visible(exit.to_string().as_bytes()) },
            exit_code: exit.code,
            signal: exit.signal,
            timer: exit.timed_out.as_ref().map(|timer| visible(timer.name().as_bytes())),
            stderr,
            more_stderr,
            ..Self::default()
        }
    }

    /// What there is to tell, as pairs of a label and a text.
    pub(crate) fn told(&self) -> Vec<(&'static str, &str)> {
        let mut told = Vec::new();
        told.extend(Some(("command", self.command.as_str())).filter(|(_, text)| !text.is_empty()));
        told.extend(Some(("ended", self.exit.as_str())).filter(|(_, text)| !text.is_empty()));
        told.extend(self.more_stderr.then_some(("stderr", "…")));
        told.extend(self.stderr.iter().map(|line| ("stderr", line.as_str())));
        told
    }
}

/// The last lines that say something, and whether there are others before them.
fn last_lines(bytes: &[u8]) -> (Vec<String>, bool) {
    let show = |line: &[u8]| {
        // An escape takes more room than the byte that it stands for, never less.
        let head = &line[..line.len().min(4 * STDERR_WIDTH)];
        clip(&visible(head.trim_ascii_end()), STDERR_WIDTH).into_owned()
    };
    let mut lines = bytes.split(|byte| *byte == b'\n').rev().filter(|line| !line.trim_ascii().is_empty());
    let mut last: Vec<String> = lines.clone().take(STDERR_LINES).map(show).collect();
    last.reverse();
    (last, lines.nth(STDERR_LINES).is_some())
}

/// The command line for a shell: what is piped in, the settings, a run before it, and the program with its arguments.
fn command(recording: &Recording) -> String {
    let facts = &recording.facts;
    let Some((program, args)) = facts.argv.split_first() else { return String::new() };
    let (piped, redirected) = stdin(recording);
    let settings = settings(facts);
    let call = |args: Vec<&str>| {
        let words = std::iter::once(program.as_str()).chain(args).map(quoted);
        let clean = ["env".to_owned(), "-i".to_owned()];
        clean.into_iter().chain(settings.iter().cloned()).chain(words).collect::<Vec<_>>()
    };
    let mut words = Vec::new();
    if let Some(first) = facts.other.get("first").and_then(|first| first.as_array()) {
        words.extend(call(first.iter().filter_map(|word| word.as_str()).collect()));
        words.push("&&".into());
    }
    words.extend(piped);
    words.extend(call(args.iter().map(String::as_str).collect()));
    words.extend(redirected);
    let mut line = EMPTY.to_owned() + &given(facts);
    for (at, word) in words.iter().enumerate() {
        if line.len() + word.len() > LONGEST_COMMAND {
            return line + " …";
        }
        if at > 0 {
            line.push(' ');
        }
        line += word;
    }
    line
}

fn quoted(word: &str) -> String {
    shell_word(&clip(word, LONGEST_WORD)).into_owned()
}

/// The environment: what stands for the room, the API and credentials, then the settings that are known.
fn settings(facts: &Facts) -> Vec<String> {
    let is_name = |name: &&str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
    };
    let templates = facts.other.get("env_templates").and_then(Value::as_object);
    let template = |name: &str| templates.and_then(|known| known.get(name)?.as_str());
    let mut settings = Vec::new();
    if !facts.env_set.iter().any(|name| name == "HOME") {
        settings.push(format!("HOME={ROOM}"));
    }
    if facts.env("PATH").is_none() {
        settings.push("PATH=\"$PATH\"".to_owned());
    }
    let is_hidden = |name: &&str| facts.env(name).is_none();
    for name in facts.env_set.iter().map(String::as_str).filter(is_name).filter(is_hidden) {
        let value = match template(name) {
            Some(template) => filled(template),
            None if name == "HOME" => ROOM.to_owned(),
            None if templates.is_some() => NO_KEY.to_owned(),
            // Of a recording that does not say what its settings were, only the address matters.
            None if name.ends_with("_URL") => NO_API.to_owned(),
            None => continue,
        };
        settings.push(format!("{name}={value}"));
    }
    let public = facts.env_public.iter().filter(|(name, _)| is_name(&name.as_str()));
    settings.extend(public.map(|(name, value)| format!("{name}={}", quoted(value))));
    settings
}

/// The value of a setting that names the room or the API, for a shell.
fn filled(template: &str) -> String {
    let template = template.replace("{api}", NO_API);
    let mut parts = vec![template.as_str()];
    for place in ["{home}", "{work}", "{tmp}"] {
        parts = parts.into_iter().flat_map(|part| part.split(place)).collect();
    }
    let words: Vec<String> =
        parts.iter().map(|part| if part.is_empty() { String::new() } else { quoted(part) }).collect();
    words.join(ROOM)
}

/// What puts the target's own files into the room; without them it might ask a real API.
fn given(facts: &Facts) -> String {
    let files = facts.other.get("given").and_then(Value::as_object);
    let write = |(path, text): (&String, &Value)| {
        let path = format!("{ROOM}/{}", shell_word(path.trim_start_matches("~/")));
        let text = filled(text.as_str().unwrap_or_default());
        format!("mkdir -p \"$(dirname {path})\" && printf %s {text} >{path} && ")
    };
    files.into_iter().flatten().map(write).collect()
}

/// What gives the command its standard input, before it or after it.
fn stdin(recording: &Recording) -> (Option<String>, Option<String>) {
    let Some(Ok(text)) = recording.stdin().ok().flatten().map(String::from_utf8) else { return (None, None) };
    if text.len() <= LONGEST_STDIN {
        return (Some(format!("printf %s {} |", shell_word(&text))), None);
    }
    let file = recording.place().join(STDIN);
    let kept = file.is_file().then(|| quoted(&file.to_string_lossy()));
    (None, Some(format!("< {}", kept.unwrap_or_else(|| "…".into()))))
}

impl Process {
    /// The process of the recording in a folder, if there is one.
    #[cfg(feature = "cli")]
    pub(crate) fn at(folder: &Path) -> Option<Self> {
        Recording::open(folder).ok().map(|recording| Self::of(&recording))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn recording(facts: &Value, stderr: &[u8]) -> Recording {
        let mut whole = json!({"schema_version": 1, "target": "t", "target_version": "1", "scenario": "s", "exit": {"code": 1}});
        whole.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
        Recording::new(Facts::parse(whole.to_string().as_bytes()).unwrap(), Vec::new(), stderr.to_vec())
    }

    #[test]
    fn a_command_can_be_pasted() {
        let told = |facts| Process::of(&recording(&facts, b"")).command;
        let bare = r#"room=$(mktemp -d) && env -i HOME="$room" PATH="$PATH" "#;
        let plain = |facts| told(facts).strip_prefix(bare).unwrap().to_owned();
        assert_eq!(plain(json!({"argv": ["claw", "show", "it's", ""]})), r"claw show 'it'\''s' ''");
        assert_eq!(
            told(json!({"argv": ["/bin/claw", "-p", "two\nlines"], "env_set": ["PATH", "MODE", "x y"],
                    "env_public": {"PATH": "/bin", "MODE": "a b", "x y": "1"}})),
            r#"room=$(mktemp -d) && env -i HOME="$room" PATH=/bin MODE='a b' /bin/claw -p $'two\nlines'"#
        );
        let twice = told(json!({"argv": ["claw", "b"], "first": ["a"]}));
        assert_eq!(twice, format!("{bare}claw a && {}claw b", bare.split_once("&& ").unwrap().1));
        assert_eq!(told(json!({})), "");
        let long = plain(json!({"argv": ["claw", "x".repeat(5000), "y", "z".repeat(5000)]}));
        assert!(long.starts_with("claw 'xxx") && long.contains("…' y 'zz") && long.len() < 1000, "{long}");
        let many = told(json!({"argv": vec!["argument"; 5000]}));
        assert!(many.ends_with(" …") && many.len() < LONGEST_COMMAND + 10);
    }

    #[test]
    fn regression_a_pasted_command_could_ask_the_real_api_with_a_real_key() {
        let folder = tempfile::tempdir().unwrap();
        let facts = json!({
            "argv": ["/usr/bin/env"],
            "env_set": ["PATH", "HOME", "TMPDIR", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"],
            "env_public": {"PATH": "/usr/bin:/bin"},
            "env_templates": {"HOME": "{home}", "TMPDIR": "{tmp}/it's a", "ANTHROPIC_BASE_URL": "{api}/v1"},
        });
        let said = std::process::Command::new("bash")
            .args(["-c", &Process::of(&recording(&facts, b"")).command])
            .env("ANTHROPIC_API_KEY", "sk-real")
            .env("ANTHROPIC_AUTH_TOKEN", "real")
            .env("TMPDIR", folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        let mut set: Vec<&str> = said.lines().collect();
        set.sort_unstable();
        let room = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let room = room.display();
        assert_eq!(
            set,
            [
                "ANTHROPIC_API_KEY=not-a-key",
                "ANTHROPIC_BASE_URL=http://127.0.0.1:9/v1",
                &format!("HOME={room}"),
                "PATH=/usr/bin:/bin",
                &format!("TMPDIR={room}/it's a"),
            ]
        );
    }

    #[test]
    fn what_the_target_was_given_is_there_before_it_starts() {
        let folder = tempfile::tempdir().unwrap();
        let facts = json!({
            "argv": ["cat", "conf dir/it's.toml"],
            "given": {"~/conf dir/it's.toml": "url = \"{api}/v1\"\nhome = '{home}'\n", "empty": ""},
        });
        let command = Process::of(&recording(&facts, b"")).command;
        let command = command.replace(" env -i ", " cd \"$room\" && env -i ");
        let mut bash = std::process::Command::new("bash");
        let said = bash.args(["-c", &command]).env("TMPDIR", folder.path()).output().unwrap();
        let room = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let wanted = format!("url = \"{NO_API}/v1\"\nhome = '{}'\n", room.display());
        assert_eq!(String::from_utf8(said.stdout).unwrap(), wanted, "{command}");
        assert!(room.join("empty").is_file());
    }

    #[test]
    fn standard_input_belongs_to_the_command() {
        let with = |text: &str| {
            let facts = json!({"argv": ["claw"], "stdin": {"bytes": text.len()}});
            Process::of(&recording(&facts, b"").with_input(Vec::new(), Some(text.into()))).command
        };
        assert!(with("-x y").contains(" && printf %s '-x y' | env -i "), "{}", with("-x y"));
        assert!(with(&"x".repeat(201)).ends_with(" claw < …"));
    }

    #[test]
    fn the_last_lines_of_standard_error_are_told() {
        let many = (1..=12).map(|line| format!("line {line}\n\n")).collect::<Vec<_>>().concat();
        let process = Process::of(&recording(&json!({}), many.as_bytes()));
        assert_eq!((process.stderr.len(), process.more_stderr), (10, true));
        assert_eq!((process.stderr[0].as_str(), process.stderr[9].as_str()), ("line 3", "line 12"));
        let hostile = Process::of(&recording(&json!({}), b"\x1b[31m::error::\xff ##[x]\r\n"));
        assert_eq!(hostile.stderr, [r"\u{1b}[31m::error::\xff # #[x]"]);
        assert_eq!(hostile.told()[0], ("ended", "exit code 1"));
        let long = Process::of(&recording(&json!({}), &b"\x01".repeat(1 << 20)));
        assert!(long.more_stderr && long.stderr[0].chars().count() == STDERR_WIDTH + 1);
        assert!(Process::of(&recording(&json!({}), b"\n \n")).stderr.is_empty());
    }
}
