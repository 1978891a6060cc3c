//! The command line of claw.

use super::super::World;

/// The command line, taken apart.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) verb: Option<String>,
    pub(super) words: Vec<String>,
    pub(super) prompt: Option<String>,
    pub(super) json: bool,
    pub(super) compact: bool,
    pub(super) unknown_flag: Option<String>,
    /// A flag that lacks its value.
    pub(super) incomplete: Option<String>,
    pub(super) options: Vec<(String, String)>,
}

const WITH_VALUE: [&str; 11] = [
    "--resume",
    "--model",
    "--base-commit",
    "--permission-mode",
    "--allowedTools",
    "--session",
    "--directory",
    "--limit",
    "--max-turns",
    "--timeout-seconds",
    "--session-id",
];

impl Arguments {
    pub(super) fn read(world: &World) -> Self {
        let mut read =
            Self { json: world.variable("CLAW_OUTPUT_FORMAT").as_deref() == Some("json"), ..Self::default() };
        let mut words = world.args.iter().peekable();
        while let Some(word) = words.next() {
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            match name {
                "--output-format" => {
                    let value = joined.or_else(|| words.next().cloned()).unwrap_or_default();
                    if value.is_empty() {
                        read.incomplete.get_or_insert_with(|| name.to_owned());
                    }
                    read.json = value.eq_ignore_ascii_case("json");
                    if !matches!(value.to_ascii_lowercase().as_str(), "json" | "text" | "") {
                        read.unknown_flag.get_or_insert_with(|| format!("--output-format {value}"));
                    }
                }
                "--compact" => read.compact = true,
                // How much is printed; the format says as what.
                "--print" if words.peek().is_some_and(|next| next.starts_with('-')) => {}
                "-p" | "--print" => {
                    read.verb.get_or_insert_with(|| "prompt".into());
                    read.prompt = words.next_if(|next| !next.starts_with("--")).cloned();
                    if world.is_wrong("flag-swallowed") {
                        let rest: Vec<String> = words.by_ref().cloned().collect();
                        read.json = false;
                        read.prompt = Some(format!("{} {}", read.prompt.unwrap_or_default(), rest.join(" ")));
                    }
                }
                name if WITH_VALUE.contains(&name) => {
                    let value = joined.or_else(|| words.next_if(|next| !next.starts_with("--")).cloned());
                    match value {
                        Some(value) => read.options.push((name.to_owned(), value)),
                        None if world.is_wrong("missing-value-ignored") => {}
                        None => read.incomplete = Some(name.to_owned()),
                    }
                }
                name if name.starts_with('-') && name.len() > 1 => {
                    read.unknown_flag.get_or_insert_with(|| word.clone());
                }
                _ if read.verb.is_none() => read.verb = Some(word.clone()),
                _ => read.words.push(word.clone()),
            }
        }
        if read.verb.as_deref() == Some("prompt") && read.prompt.is_none() && !read.words.is_empty() {
            read.prompt = Some(read.words.join(" "));
        }
        read
    }

    /// Why the line cannot be obeyed, by the flags alone; `unknown` is what is said of one that nobody knows.
    pub(super) fn mistake(&self, unknown: &str) -> Option<String> {
        let missing = self.incomplete.as_ref().map(|flag| format!("missing value for {flag}"));
        missing.or_else(|| self.unknown_flag.as_ref().map(|flag| format!("{unknown}: {flag}")))
    }

    /// The value of a flag.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_and_its_flags_are_told_apart() {
        let read = Arguments::read(&World::of(&["-p", "Hi", "--output-format", "JSON", "--model=m"]));
        assert_eq!((read.verb.as_deref(), read.prompt.as_deref()), (Some("prompt"), Some("Hi")));
        assert!(read.json && read.unknown_flag.is_none());
        assert_eq!((read.option("--model"), read.option("--limit")), (Some("m"), None));
    }

    #[test]
    fn a_flag_that_nobody_knows_is_remembered() {
        let read = Arguments::read(&World::of(&["status", "--frobnicate"]));
        assert_eq!(read.unknown_flag.as_deref(), Some("--frobnicate"));
        assert_eq!(read.mistake("unknown").as_deref(), Some("unknown: --frobnicate"));
        let read = Arguments::read(&World::of(&["status", "--model"]));
        assert_eq!(read.mistake("unknown").as_deref(), Some("missing value for --model"));
        let read = Arguments::read(&World::of(&["status", "--output-format", "xml"]));
        assert_eq!(read.unknown_flag.as_deref(), Some("--output-format xml"));
    }

    #[test]
    fn a_swallowed_flag_goes_to_the_model() {
        let wrong = "flag-swallowed".parse().ok();
        let world = World { wrong, ..World::of(&["-p", "Hi", "--output-format", "json"]) };
        let read = Arguments::read(&world);
        assert_eq!(read.prompt.as_deref(), Some("Hi --output-format json"));
        assert!(!read.json);
    }
}
