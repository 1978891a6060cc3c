//! How evaluations of skills run a target: the flags that they need of it, and how its stream tells that a skill was used.
//!
//! ```toml
//! [eval]                                            # in each, {value} is filled in
//! model = ["--model", "{value}"]
//! max_turns = ["--max-turns", "{value}"]
//! permission_mode = ["--permission-mode", "{value}"]
//! allow_all = ["--permission-mode", "bypassPermissions"]
//! allowed_tools = ["--allowedTools", "{value}"]     # with commas between them
//! answer_form = ["--json-schema", "{value}"]        # for models that judge
//! settings = ["--settings", "{value}"]              # as JSON
//!
//! [eval.skill]                                      # a call of the tool that names the skill uses it
//! tool = "Skill"
//! arguments = ["skill"]
//! read_tool = "Read"                                # and so does reading its file
//! read_arguments = ["file_path"]
//! folder = ".claude/skills"                         # where the target looks for skills
//! mention = "/"                                     # a question that begins with this and its name uses a skill
//!
//! [eval.real_api]                                   # what of the target's own is left out with --api real
//! drop_args = ["--model claude-haiku-4-5"]
//! drop_env = ["MAX_THINKING_TOKENS"]
//! pass_env = ["ANTHROPIC_MODEL"]                    # settings of the author that are passed on
//! settings_file = ".claude/settings.json"           # of the author's home, and which keys of it
//! settings_keys = ["model"]
//! ```

use serde::{Deserialize, Serialize};

use crate::document::{FileError, Item, Table};

/// What stands for the value of a flag.
const VALUE: &str = "{value}";

/// How evaluations run a target.
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command line alone reads the fields"))]
pub(crate) struct EvalPart {
    pub model: Flag,
    pub max_turns: Flag,
    pub permission_mode: Flag,
    /// Allows everything without asking.
    pub allow_all: Flag,
    pub allowed_tools: Flag,
    pub disallowed_tools: Flag,
    pub system_prompt: Flag,
    /// The JSON Schema of a structured answer.
    pub answer_form: Flag,
    /// Further settings, as JSON.
    pub settings: Flag,
    /// What makes it do background work in the foreground.
    pub sync_tasks: Vec<(String, String)>,
    pub skill: SkillSignal,
    pub real_api: RealApi,
}

/// The arguments that say one thing; none where the target has no such flag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Flag(Option<Vec<String>>);

#[cfg(feature = "cli")]
impl Flag {
    /// The arguments with this value; none where the target has no such flag.
    pub(crate) fn with(&self, value: &str) -> Option<Vec<String>> {
        Some(self.0.as_ref()?.iter().map(|word| word.replace(VALUE, value)).collect())
    }

    /// Takes this flag out of a command line, with what follows it.
    pub(crate) fn take_from(&self, args: &mut Vec<String>) {
        let Some(words) = &self.0 else { return };
        if let Some(at) = args.iter().position(|word| words.first() == Some(word)) {
            args.drain(at..(at + words.len()).min(args.len()));
        }
    }

    /// The value that a command line gives this flag.
    pub(crate) fn value_in(&self, args: &[String]) -> Option<String> {
        let words = self.0.as_ref()?;
        let at = args.iter().position(|word| words.first() == Some(word))?;
        args.get(at + 1).cloned()
    }
}

/// How the stream of a target tells that a skill was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SkillSignal {
    /// The tool whose call uses a skill.
    pub tool: String,
    /// The arguments that may name the skill.
    pub arguments: Vec<String>,
    /// The tool that reads files: reading the skill's own file uses it too.
    pub read_tool: String,
    /// The arguments that may name the file: a path, or words one of which is its path.
    pub read_arguments: Vec<String>,
    /// Where the target looks for skills, from its working directory.
    #[serde(default = "usual_folder")]
    pub folder: String,
    /// What stands before the name of a skill in a question that uses it.
    #[serde(default = "usual_mention")]
    pub mention: String,
}

fn usual_folder() -> String {
    ".claude/skills".into()
}

fn usual_mention() -> String {
    "/".into()
}

impl Default for SkillSignal {
    fn default() -> Self {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            tool: "Skill".into(),
            arguments: words(&["skill", "command", "name"]),
            read_tool: "Read".into(),
            read_arguments: words(&["file_path"]),
            folder: usual_folder(),
            mention: usual_mention(),
        }
    }
}

/// What differs where the real API answers: there the author's own settings are measured, not those that make a run
/// with a scripted model the same every time.
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command line alone reads the fields"))]
pub(crate) struct RealApi {
    /// Arguments of the target's own that are left out.
    pub drop_args: Vec<Vec<String>>,
    /// Settings of the target's own that are left out.
    pub drop_env: Vec<String>,
    /// Settings of the author's environment that are passed on.
    pub pass_env: Vec<String>,
    /// Where in the author's home settings stand.
    pub settings_file: Option<String>,
    /// Which of them are passed on.
    pub settings_keys: Vec<String>,
}

impl EvalPart {
    pub(super) fn read(item: Item<'_>) -> Result<Self, FileError> {
        let mut table = item.into_table()?;
        let part = Self {
            model: flag(&mut table, "model", true)?,
            max_turns: flag(&mut table, "max_turns", true)?,
            permission_mode: flag(&mut table, "permission_mode", true)?,
            allow_all: flag(&mut table, "allow_all", false)?,
            allowed_tools: flag(&mut table, "allowed_tools", true)?,
            disallowed_tools: flag(&mut table, "disallowed_tools", true)?,
            system_prompt: flag(&mut table, "system_prompt", true)?,
            answer_form: flag(&mut table, "answer_form", true)?,
            settings: flag(&mut table, "settings", true)?,
            sync_tasks: match table.take("sync_tasks") {
                None => Vec::new(),
                Some(item) => {
                    let entries = item.into_table()?.into_entries().into_iter();
                    entries.map(|(name, item)| Ok((name, item.into_string()?))).collect::<Result<_, _>>()?
                }
            },
            skill: table.take("skill").map(signal).transpose()?.unwrap_or_default(),
            real_api: table.take("real_api").map(real_api).transpose()?.unwrap_or_default(),
        };
        table.finish()?;
        Ok(part)
    }
}

fn flag(table: &mut Table<'_>, key: &'static str, has_value: bool) -> Result<Flag, FileError> {
    let Some(item) = table.take(key) else { return Ok(Flag(None)) };
    let place = item.place();
    let words = item.strings()?;
    if words.is_empty() || has_value != words.iter().any(|word| word.contains(VALUE)) {
        return Err(place.complain(if has_value {
            "expected arguments with `{value}` in one of them, such as [\"--model\", \"{value}\"]"
        } else {
            "expected arguments, without a `{value}`"
        }));
    }
    Ok(Flag(Some(words)))
}

fn signal(item: Item<'_>) -> Result<SkillSignal, FileError> {
    let mut table = item.into_table()?;
    let usual = SkillSignal::default();
    let signal = SkillSignal {
        tool: table.string("tool")?.unwrap_or(usual.tool),
        arguments: Some(table.strings("arguments")?).filter(|all| !all.is_empty()).unwrap_or(usual.arguments),
        read_tool: table.string("read_tool")?.unwrap_or(usual.read_tool),
        read_arguments: Some(table.strings("read_arguments")?)
            .filter(|all| !all.is_empty())
            .unwrap_or(usual.read_arguments),
        folder: table.string("folder")?.unwrap_or(usual.folder),
        mention: table.string("mention")?.unwrap_or(usual.mention),
    };
    table.finish()?;
    Ok(signal)
}

fn real_api(item: Item<'_>) -> Result<RealApi, FileError> {
    let mut table = item.into_table()?;
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect();
    let part = RealApi {
        drop_args: table.strings("drop_args")?.into_iter().map(words).collect(),
        drop_env: table.strings("drop_env")?,
        pass_env: table.strings("pass_env")?,
        settings_file: table.string("settings_file")?,
        settings_keys: table.strings("settings_keys")?,
    };
    table.finish()?;
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::target::Target;

    fn parsed(text: &str) -> Result<EvalPart, String> {
        let head = "target = { name = \"x\", program = \"x\" }\n[[speaks]]\ncontract = \"claw-flat\"\n";
        let target = Target::parse("t.toml", &format!("{head}{text}"));
        target.map(|target| target.eval).map_err(|error| error.headline())
    }

    #[test]
    fn a_flag_says_where_its_value_goes() {
        let part = parsed("[eval]\nmodel = [\"-m\", \"{value}\"]\nallow_all = [\"--yolo\"]").unwrap();
        assert_eq!(part.model.with("m1"), Some(vec!["-m".into(), "m1".into()]));
        assert_eq!(part.max_turns.with("3"), None);
        let mut args: Vec<String> = ["-a", "-m", "old", "-b"].map(Into::into).to_vec();
        part.model.take_from(&mut args);
        assert_eq!(args, ["-a", "-b"]);
        assert_eq!(part.skill, SkillSignal::default());
        for (text, complaint) in [
            ("[eval]\nmodel = [\"-m\"]", "`{value}` in one of them"),
            ("[eval]\nallow_all = [\"{value}\"]", "without a `{value}`"),
            ("[eval]\nmodell = [\"-m\"]", "did you mean `model`?"),
            ("[eval.skill]\ntol = \"x\"", "did you mean `tool`?"),
        ] {
            let found = parsed(text).unwrap_err();
            assert!(found.contains(complaint), "{found}");
        }
    }

    #[test]
    fn the_built_in_targets_that_evaluations_run_on_have_every_flag() {
        for name in ["claude", "reference"] {
            let (_, text) = crate::run::target::TARGETS.iter().find(|(known, _)| *known == name).unwrap();
            let part = Target::parse(name, text).unwrap().eval;
            for flag in [
                &part.model,
                &part.max_turns,
                &part.permission_mode,
                &part.allow_all,
                &part.allowed_tools,
                &part.disallowed_tools,
                &part.system_prompt,
                &part.answer_form,
                &part.settings,
            ] {
                assert!(flag.0.is_some(), "{name}: {part:?}");
            }
        }
    }
}
