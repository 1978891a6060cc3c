//! `clawgate help`: the commands in groups, examples of each, and the reference of the files that a user writes.

use std::io::Write as _;

use clap::{Arg, Command};

use super::{CommandError, Format, definition};
use crate::exit_code::Outcome;
use crate::report::style::{FAINT, NAME};
use crate::text::did_you_mean;

/// The files that a user writes, each with its reference.
const TOPICS: [(&str, &str, &str); 5] = [
    ("scenarios", "what a target is made to do", include_str!("../../../scenarios/README.md")),
    ("targets", "the command line under test", include_str!("../../../targets/README.md")),
    ("contracts", "what it promises, in clauses", include_str!("../../../schemas/README.md")),
    ("evals", "how skills are measured", include_str!("../../../evals/README.md")),
    ("config", "clawgate.toml and its profiles", include_str!("config.md")),
];

/// The commands by what they are for.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Judge and run", &["run", "judge", "eval", "events"]),
    ("Compare", &["diff", "drift", "matrix", "golden", "merge"]),
    ("Understand", &["explain", "contract", "audit"]),
    (
        "Set up and serve",
        &["init", "target", "record", "bundle", "mock", "mcp", "sweep", "play", "completions", "man", "help"],
    ),
];

/// Examples of the commands that have none beside their definition, by their words.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "run",
        &[
            "clawgate run                                  # the built-in suite on the agent inside clawgate",
            "clawgate run --target claude@latest smoke     # one tag on a version that is installed",
            "clawgate run --target agent=./agent.py        # an agent of your own",
            "clawgate run scenarios/mine.toml --report html",
            "clawgate run --rerun failed",
        ],
    ),
    ("golden", &["clawgate run --golden update", "clawgate golden review", "clawgate golden accept"]),
    ("golden review", &["clawgate golden review", "clawgate golden review claude/answers"]),
    ("golden accept", &["clawgate golden accept", "clawgate golden accept reference/claude"]),
    ("golden reject", &["clawgate golden reject claude/answers"]),
    ("golden prune", &["clawgate golden prune --dry-run", "clawgate golden prune scenarios/"]),
    ("eval lint", &["clawgate eval lint", "clawgate eval lint .claude/skills/greet --strict"]),
    ("eval init", &["clawgate eval init .claude/skills/greet", "clawgate eval init greet --to greet.toml"]),
    ("eval grade", &["clawgate eval grade clawgate-out/eval/greet/iteration-1"]),
    ("contract", &["clawgate contract list", "clawgate contract show agent-core"]),
    ("contract list", &["clawgate contract list", "clawgate contract list --format json | jq .name"]),
    ("contract show", &["clawgate contract show claw-flat", "clawgate contract show ./my-contract"]),
    (
        "contract diff",
        &["clawgate contract diff claw-1.0 claw-2.0", "clawgate contract diff old/ schemas/mine"],
    ),
    ("events", &["clawgate events timeline .claws/events", "clawgate events watch .claws/events --all"]),
    (
        "events timeline",
        &["clawgate events timeline log.jsonl", "clawgate events timeline log.jsonl --html timeline.html"],
    ),
    ("events watch", &["clawgate events watch .claws/events", "clawgate events watch log.jsonl --for 30"]),
    (
        "events probe",
        &[
            "clawgate events probe --socket .claws/claws.sock",
            "clawgate events probe --socket claws.sock -- node server.js",
        ],
    ),
    (
        "events serve",
        &[
            "clawgate events serve --socket claws.sock --log events.jsonl",
            "clawgate events serve --orders orders.toml -- python3 worker.py",
        ],
    ),
    ("audit", &["clawgate audit agent-core", "clawgate audit ./my-contract --min-score 0.95"]),
    (
        "mock",
        &[
            "clawgate mock                                 # a healthy answer; the address is the first line",
            "clawgate mock --fault http:status=429 --port 8080",
            "clawgate mock scenarios/mine.toml --strict",
        ],
    ),
    (
        "mcp",
        &[
            "clawgate mcp claude/mcp                         # over stdio, as a client starts it",
            "clawgate mcp claude/mcp --http --port 8080      # over streamable HTTP; the address is the first line",
            "clawgate mcp claude/mcp --tool-fault hangs",
            "clawgate mcp scenarios/mine.toml --server files --journal seen.jsonl",
        ],
    ),
    (
        "sweep",
        &["clawgate sweep plain", "clawgate sweep plain --list", "clawgate sweep tool-use --filter stall"],
    ),
    (
        "target",
        &["clawgate target list", "clawgate target install claude@latest", "clawgate target doctor claude"],
    ),
    ("target list", &["clawgate target list", "clawgate target list --misbehaviours"]),
    ("target install", &["clawgate target install claude@latest", "clawgate target install claude@2.1.197"]),
    ("target doctor", &["clawgate target doctor", "clawgate target doctor targets/mine.toml"]),
    (
        "play",
        &[
            "clawgate play clawgate-out/claude/claude/answers/stream",
            "clawgate play RECORDING --fault cut:after=100 --speed 0",
            "clawgate play claude/control/allowed --out conversations -- \"$@\"   # in the script that an SDK starts",
        ],
    ),
    ("help", &["clawgate help run", "clawgate help golden accept", "clawgate help targets"]),
];

/// Show the help of a command, or the reference of a file that you write: scenarios, targets, contracts, evals, config
#[derive(Debug, clap::Args)]
pub(super) struct HelpArgs {
    /// A command, or scenarios, targets, contracts, evals or config
    #[arg(value_name = "WORD")]
    words: Vec<String>,
}

pub(super) fn run(args: &HelpArgs) -> Result<Outcome, CommandError> {
    let mut out = Format::Human.stdout();
    if let [topic] = &args.words[..]
        && let Some((_, _, text)) = TOPICS.iter().find(|(name, ..)| name == topic)
    {
        write!(out, "{}", rendered(text))?;
        out.flush()?;
        return Ok(Outcome::Ok);
    }
    let mut command = definition();
    command.build();
    let mut found = &mut command;
    for word in &args.words {
        let inner: Vec<String> = found.get_subcommands().map(|known| known.get_name().to_owned()).collect();
        let Some(next) = found.find_subcommand_mut(word) else {
            let known: Vec<&str> =
                inner.iter().map(String::as_str).chain(TOPICS.iter().map(|(name, ..)| *name)).collect();
            let hint = did_you_mean(word, &known);
            return Err(CommandError::Usage(format!("there is no help for `{word}`{hint}")));
        };
        found = next;
    }
    write!(out, "{}", found.render_long_help().ansi())?;
    out.flush()?;
    Ok(Outcome::Ok)
}

/// The commands in their groups, and each with its examples.
pub(super) fn arranged(command: Command) -> Command {
    let mut list = Vec::new();
    for (title, names) in GROUPS {
        list.push(format!("{NAME}{title}:{NAME:#}"));
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_default();
            list.push(format!("  {NAME}{name:<12}{NAME:#} {}", short(&about)));
        }
        list.push(String::new());
    }
    list.push(format!("{NAME}Files that you write:{NAME:#}"));
    list.extend(TOPICS.map(|(name, what, _)| format!("  {NAME}help {name:<10}{NAME:#} {what}")));
    let template = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\nOptions:\n{options}\n";
    with_examples(command, "").help_template(template).after_help(list.join("\n"))
}

/// As much of a command's description as fits into one line of a narrow terminal.
fn short(about: &str) -> &str {
    if about.len() <= 72 { about } else { about.split([':', ',']).next().unwrap_or(about) }
}

fn with_examples(command: Command, path: &str) -> Command {
    let mut command = command;
    let found = EXAMPLES.iter().find(|(known, _)| *known == path && !path.is_empty());
    if let Some((_, lines)) = found {
        let rest =
            command.get_after_long_help().or(command.get_after_help()).map(|text| text.ansi().to_string());
        let rest = rest.map(|rest| format!("\n\n{rest}")).unwrap_or_default();
        let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
        command = command.after_long_help(format!("Examples:\n{}{rest}", lines.join("\n")));
    }
    // A negative number is a value, of which the flag says what is wrong with it.
    let takes_value = |arg: &Arg| !arg.is_positional() && arg.get_action().takes_values();
    command = command.mut_args(|arg| if takes_value(&arg) { arg.allow_negative_numbers(true) } else { arg });
    if let Some(text) = command.get_after_long_help().map(|text| text.ansi().to_string()) {
        command = command.after_long_help(unwrapped(&text));
    }
    if let Some(text) = command.get_after_help().map(|text| text.ansi().to_string()) {
        command = command.after_help(unwrapped(&text));
    }
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    for name in names {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command = command.mut_subcommand(name, |inner| with_examples(inner, &path));
    }
    command
}

/// Each paragraph as one line, which the terminal's width wraps; what is set apart stays as it is.
fn unwrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
        match lines.last_mut().filter(|last| is_prose(last) && is_prose(line) && !last.ends_with(':')) {
            Some(last) => *last = format!("{last} {line}"),
            None => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

/// Markdown for a terminal: headings stand out, code is set apart, and the rest is as it was written.
fn rendered(markdown: &str) -> String {
    let mut lines = Vec::new();
    let mut is_code = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            lines.push(format!("    {FAINT}{line}{FAINT:#}"));
        } else if let Some(heading) = line.strip_prefix('#') {
            lines.push(format!("{NAME}{}{NAME:#}", heading.trim_start_matches('#').trim_start()));
        } else if !line.starts_with("|---") {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        for inner in command.get_subcommands() {
            let path = format!("{path} {}", inner.get_name()).trim().to_owned();
            found.push((path.clone(), inner.clone()));
            commands(inner, &path, found);
        }
    }

    fn all() -> Vec<(String, Command)> {
        let mut found = Vec::new();
        commands(&definition(), "", &mut found);
        found
    }

    #[test]
    fn every_command_has_examples_that_begin_with_it() {
        for (path, command) in all() {
            let text = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
            let text = text.unwrap_or_default();
            let examples = text.split("Examples:\n").nth(1).unwrap_or_default();
            let examples: Vec<&str> = examples.lines().take_while(|line| !line.is_empty()).collect();
            assert!(!examples.is_empty(), "{path} has no examples");
            let is_own = |line: &&str| line.contains(&format!("clawgate {path}"));
            assert!(examples.iter().any(is_own), "{path}: {examples:?}");
            // What is typed there can be typed.
            for line in examples {
                let Some(at) = line.find("clawgate ") else { continue };
                let words = line[at..].split(['#', '|', '>']).next().unwrap_or_default();
                let words: Vec<&str> = words.split_whitespace().map(|word| word.trim_matches('\'')).collect();
                if words.contains(&"--git") {
                    continue;
                }
                let typed = definition().try_get_matches_from(&words);
                assert!(
                    typed.is_ok(),
                    "{line}: {}",
                    typed.err().map(|error| error.to_string()).unwrap_or_default()
                );
            }
        }
    }

    #[test]
    fn every_command_is_in_one_group_and_says_what_to_do() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut known: Vec<String> =
            definition().get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped, known);
        for (path, command) in all() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let first = about.split_whitespace().next().unwrap_or_default();
            assert!(
                !first.ends_with('s') && !first.starts_with("The") && !about.ends_with('.'),
                "{path}: {about}"
            );
        }
    }

    #[test]
    fn a_flag_means_the_same_in_every_command() {
        let mut meanings: Vec<(String, char, String)> = Vec::new();
        for (path, command) in all() {
            for argument in command.get_arguments() {
                let Some(long) = argument.get_long() else { continue };
                if !["profile", "reading", "case", "jobs", "out", "format", "color"].contains(&long) {
                    continue;
                }
                let short = argument.get_short().unwrap_or(' ');
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                let key: String = help.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
                match meanings.iter().find(|(known, ..)| known == long) {
                    Some((_, known, _)) if long == "jobs" => assert_eq!(*known, short, "{path} --{long}"),
                    Some((_, _, meaning)) if ["profile", "case", "color"].contains(&long) => {
                        assert_eq!(*meaning, key, "{path} --{long}");
                    }
                    Some(_) => {}
                    None => meanings.push((long.to_owned(), short, key)),
                }
            }
        }
    }

    #[test]
    fn the_reference_of_the_configuration_names_every_key() {
        let schema: serde_json::Value =
            serde_json::from_str(include_str!("../../../schemas/clawgate/config.schema.json")).unwrap();
        let profile = schema["$defs"]["profile"]["properties"].as_object().unwrap();
        for key in profile.keys() {
            assert!(TOPICS[4].2.contains(&format!("| `{key}` |")), "{key}");
        }
    }

    #[test]
    fn code_is_set_apart_and_headings_stand_out() {
        let told = anstream::adapter::strip_str(&rendered("# A\ntext\n```toml\nx = 1\n```\n| a |\n|---|\n"))
            .to_string();
        assert_eq!(told, "A\ntext\n    x = 1\n| a |\n");
    }
}
