//! Assertions: what has to hold for a trial, decided without a model.
//!
//! Checking is a pure function of what was observed. Where something cannot be decided the answer is *unchecked* with
//! the reason, and never a pass.

mod cannot_fail;
mod figures;
mod files;
mod format;
mod json;
mod pattern;
mod reach;
mod reader;
mod text;
mod tools;

pub(crate) use format::Format;
pub(crate) use pattern::Pattern;
pub(crate) use reader::{Dialect, read};

use serde::{Deserialize, Serialize};

use self::files::FileCheck;
use self::json::JsonCheck;
use self::reach::ReachCheck;
use self::text::TextCheck;
use self::tools::ToolCheck;
use super::examiner::{Exam, Examined};
use super::observed::Observed;
use crate::classify::Class;

/// Something that has to hold.
#[derive(Debug, Clone)]
pub struct Assertion {
    /// What identifies it within its evaluation.
    pub id: String,
    /// Which text it is about.
    pub about: About,
    /// What has to hold.
    pub(crate) check: Check,
}

/// Which text an assertion is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum About {
    /// What the case says is its output.
    #[default]
    Output,
    /// The last text that was said.
    Final,
    /// A file that was written.
    File(String),
}

/// What has to hold.
#[derive(Debug, Clone)]
pub(crate) enum Check {
    Text(TextCheck),
    Reach(ReachCheck),
    Json(JsonCheck),
    File(FileCheck),
    Tool(ToolCheck),
    /// A command of the author says that it is right.
    Exec(Exam),
    /// The skill was used, or not.
    Skill(bool),
    Exit(i32),
    Verdict(Vec<Class>),
    MaxCost(f64),
    MaxTokens(u64),
    MaxTurns(u64),
    MaxSeconds(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    Pass,
    Fail,
    /// It could not be decided.
    Unchecked,
}

/// What became of an assertion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    pub id: String,
    /// What it asks for, in words.
    pub text: String,
    pub status: Answer,
    pub message: String,
}

/// An answer and why.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    status: Answer,
    message: String,
}

impl Found {
    fn when(holds: bool, message: impl Into<String>) -> Self {
        Self { status: if holds { Answer::Pass } else { Answer::Fail }, message: message.into() }
    }

    fn unchecked(message: impl Into<String>) -> Self {
        Self { status: Answer::Unchecked, message: message.into() }
    }
}

/// What assertions are held against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'o> {
    pub(crate) observed: &'o Observed,
    /// The case's output: what was said, or a file's text.
    pub(crate) output: &'o str,
    /// Whether the skill was used.
    pub(crate) used: bool,
}

impl Assertion {
    /// That the output contains a text.
    pub(crate) fn contains(id: &str, needle: &str) -> Self {
        let check = Check::Text(TextCheck::Contains(needle.to_owned()));
        Self { id: id.to_owned(), about: About::Output, check }
    }

    pub(crate) fn check(&self, subject: &Subject<'_>) -> Checked {
        let found = self.find(subject);
        Checked { id: self.id.clone(), text: self.describe(), status: found.status, message: found.message }
    }

    fn find(&self, subject: &Subject<'_>) -> Found {
        let observed = subject.observed;
        match &self.check {
            Check::Text(check) => match self.text(subject) {
                Ok(text) => check.find(&text),
                Err(found) => found,
            },
            Check::Reach(check) => match self.text(subject) {
                Ok(text) => check.find(&text, observed.reached.as_deref()),
                Err(found) => found,
            },
            Check::Json(check) => match self.text(subject) {
                Ok(text) => check.find(&text),
                Err(found) => found,
            },
            Check::File(check) => check.find(observed),
            Check::Tool(check) => check.find(observed),
            Check::Exec(_) => {
                let examined = observed.examined.iter().flatten().find(|examined| examined.id == self.id);
                match examined.map(Examined::answer) {
                    Some((Some(holds), why)) => Found::when(holds, why),
                    Some((None, why)) => Found::unchecked(why),
                    None => Found::unchecked("the grader was not run"),
                }
            }
            Check::Skill(wanted) => {
                let said = if subject.used { "the skill was used" } else { "the skill was not used" };
                Found::when(subject.used == *wanted, said)
            }
            Check::Exit(wanted) => figures::exit(&observed.exit, *wanted),
            Check::Verdict(allowed) => {
                let class = observed.verdict.class;
                Found::when(allowed.contains(&class), format!("the verdict is {class}"))
            }
            Check::MaxCost(most) => figures::cost(observed.usage.cost_usd, *most),
            Check::MaxTokens(most) => figures::at_most(observed.usage.tokens(), *most, "tokens"),
            Check::MaxTurns(most) => figures::at_most(observed.usage.turns, *most, "turns"),
            Check::MaxSeconds(most) => figures::seconds(observed.usage.seconds, *most),
        }
    }

    fn text<'s>(&self, subject: &Subject<'s>) -> Result<std::borrow::Cow<'s, str>, Found> {
        match &self.about {
            About::Output => Ok(subject.output.into()),
            About::Final => Ok(subject.observed.final_text.as_str().into()),
            About::File(path) => match subject.observed.file(path) {
                Ok(Some(text)) => Ok(text.into()),
                Ok(None) => Err(Found::when(false, format!("{path} was not written"))),
                Err(error) => Err(Found::unchecked(format!("{path}: {error}"))),
            },
        }
    }

    /// What it asks for, in words.
    pub fn describe(&self) -> String {
        let of = match &self.about {
            About::Output => String::new(),
            About::Final => " (the last text)".into(),
            About::File(path) => format!(" ({path})"),
        };
        let what = match &self.check {
            Check::Text(check) => check.describe(),
            Check::Reach(check) => check.describe(),
            Check::Json(check) => check.describe(),
            Check::File(check) => check.describe(),
            Check::Tool(check) => check.describe(),
            Check::Exec(exam) => format!("`{}` says so", crate::text::clip(&exam.command, 60)),
            Check::Skill(true) => "the skill is used".into(),
            Check::Skill(false) => "the skill is not used".into(),
            Check::Exit(code) => format!("the exit code is {code}"),
            Check::Verdict(classes) => {
                let names: Vec<&str> = classes.iter().map(|class| class.name()).collect();
                format!("the verdict is {}", names.join(" or "))
            }
            Check::MaxCost(most) => format!("it costs at most ${most}"),
            Check::MaxTokens(most) => format!("it uses at most {most} tokens"),
            Check::MaxTurns(most) => format!("it takes at most {most} turns"),
            Check::MaxSeconds(most) => format!("it takes at most {most} s"),
        };
        format!("{what}{of}")
    }

    /// The addresses that have to be asked before it can be decided.
    pub(crate) fn addresses(&self, subject: &Subject<'_>) -> Vec<String> {
        match (&self.check, self.text(subject)) {
            (Check::Reach(check), Ok(text)) => check.addresses(&text).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// The command that has to be run before it can be decided.
    pub(crate) fn exam(&self) -> Option<&Exam> {
        if let Check::Exec(exam) = &self.check { Some(exam) } else { None }
    }

    /// The verdicts that it allows, if it is about the verdict.
    pub(crate) fn allowed_verdicts(&self) -> Option<&[Class]> {
        match &self.check {
            Check::Verdict(classes) => Some(classes),
            _ => None,
        }
    }
}

/// Assertions about a text alone, in clauditor's form.
#[derive(Debug, Clone)]
pub struct TextAssertions(Vec<Assertion>);

impl TextAssertions {
    /// Reads a JSON array of assertions; `file` names it in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, crate::document::FileError> {
        let text = format!("{{\"assertions\": {text}}}");
        let mut root = crate::document::Document::parse_json(file, &text, &[])?;
        let items = root.list("assertions")?.into_iter();
        items.map(|item| read(item, Dialect::Clauditor, 0, None)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether each of them holds. What cannot be decided does not.
    pub fn check(&self, text: &str) -> Vec<bool> {
        let holds = |assertion: &Assertion| match &assertion.check {
            Check::Text(check) => check.find(text).status == Answer::Pass,
            Check::Reach(check) => check.find(text, None).status == Answer::Pass,
            _ => false,
        };
        self.0.iter().map(holds).collect()
    }
}

/// The beginning of a text, for messages.
pub(super) fn clip(text: &str) -> String {
    const LONGEST: usize = 60;
    format!("{:?}", crate::text::clip(text, LONGEST))
}
