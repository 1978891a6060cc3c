//! Which requests a scripted turn answers, and why another was not chosen.

use serde_json::Value;

use super::request::{ApiRequest, Facts};
use super::script::Turn;
use crate::text::clip;

/// The conditions of a turn. All of them must hold; text conditions mean "contains".
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct When {
    /// Which answer of the conversation.
    pub position: Position,
    pub agent: Agent,
    /// In the first user message.
    pub prompt: Option<String>,
    /// In what the user said since the last answer.
    pub user: Option<String>,
    /// In the system text.
    pub system: Option<String>,
    /// In the model's name.
    pub model: Option<String>,
    /// In a tool result since the last answer.
    pub tool_result: Option<ToolResultCondition>,
    /// JSON pointers into the body and the values that stand there.
    pub pointer: Vec<(String, Value)>,
    /// A request on the side, otherwise answered by itself.
    pub auxiliary: Option<String>,
}

/// Which answer of a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Position {
    /// The one after the turn before it in the file; resolved when the script is read.
    #[default]
    Next,
    /// The nth, from 1.
    At(usize),
    Any,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Agent {
    /// The main conversation: no `x-claude-code-agent-id`.
    #[default]
    Main,
    Sub,
    /// The sub-agent of this id.
    Id(String),
    Any,
}

/// What a tool result has to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolResultCondition {
    pub tool: Option<String>,
    pub contains: Option<String>,
    /// Whether it reports an error.
    pub is_error: Option<bool>,
}

/// Takes a condition's name, whether it holds, and what is expected and found; false when that is enough.
type Visitor<'v> = &'v mut dyn FnMut(&'static str, bool, &dyn Fn() -> (String, String)) -> bool;

impl When {
    /// Whether only a conversation is named, in which turns are counted.
    pub(super) fn is_conversation(&self) -> bool {
        self.user.is_none()
            && self.tool_result.is_none()
            && self.pointer.is_empty()
            && self.auxiliary.is_none()
    }

    /// Whether both name the same conversation.
    pub(super) fn same_conversation(&self, other: &When) -> bool {
        self.is_conversation()
            && other.is_conversation()
            && (&self.agent, &self.prompt, &self.system, &self.model)
                == (&other.agent, &other.prompt, &other.system, &other.model)
    }

    /// How many conditions there are: the turn with the most wins.
    pub fn specificity(&self) -> usize {
        usize::from(matches!(self.position, Position::At(_)))
            + usize::from(matches!(self.agent, Agent::Sub | Agent::Id(_)))
            + usize::from(matches!(self.agent, Agent::Id(_)))
            + [&self.prompt, &self.user, &self.system, &self.model]
                .iter()
                .filter(|text| text.is_some())
                .count()
            + usize::from(self.tool_result.is_some())
            + self.pointer.len()
            + usize::from(self.auxiliary.is_some())
    }

    /// Whether the turn answers the request.
    pub fn matches(&self, request: &ApiRequest) -> bool {
        request.is_message() && self.each(request, &mut |_, holds, _| holds)
    }

    /// What keeps the turn from answering the request, each condition in words.
    pub(crate) fn misses(&self, request: &ApiRequest) -> Vec<String> {
        let mut list = Vec::new();
        self.each(request, &mut |condition, holds, say| {
            if !holds {
                let (expected, actual) = say();
                list.push(format!("{condition}: expected {expected}, found {actual}"));
            }
            true
        });
        list
    }

    /// Visits the conditions, each with whether it holds and what is expected and found; until the visitor has enough.
    fn each(&self, request: &ApiRequest, visit: Visitor<'_>) -> bool {
        let facts = &request.facts;
        let wanted = self.auxiliary.as_deref();
        let side = facts.side.map(|side| side.name.as_str());
        let name = |kind: Option<&str>| kind.unwrap_or("a turn").to_owned();
        let main = || "the main conversation".to_owned();
        visit("turn", self.position.holds(facts), &|| (self.position.describe(), facts.position.to_string()))
            && visit("agent", self.agent.holds(facts), &|| {
                (self.agent.describe(), facts.agent.clone().unwrap_or_else(main))
            })
            && ((wanted.is_none() && side.is_none())
                || visit("auxiliary", wanted == side, &|| (name(wanted), name(side))))
            && [
                ("prompt", &self.prompt, &*facts.prompt),
                ("user", &self.user, &*facts.user),
                ("system", &self.system, &facts.system),
                ("model", &self.model, &facts.model),
            ]
            .into_iter()
            .all(|(condition, wanted, text)| {
                wanted.as_ref().is_none_or(|wanted| {
                    visit(condition, text.contains(wanted), &|| {
                        (format!("contains {wanted:?}"), format!("{:?}", clip(text, 80)))
                    })
                })
            })
            && self.tool_result.as_ref().is_none_or(|wanted| {
                visit("tool_result", wanted.holds(facts), &|| (wanted.describe(), describe_results(facts)))
            })
            && self.pointer.iter().all(|(pointer, value)| {
                let actual = request.json().and_then(|body| body.pointer(pointer));
                visit("pointer", actual == Some(value), &|| {
                    let shown = |actual: &Value| clip(&actual.to_string(), 80).into_owned();
                    (format!("{pointer} is {value}"), actual.map_or("nothing there".to_owned(), shown))
                })
            })
    }
}

impl Position {
    fn holds(self, facts: &Facts) -> bool {
        match self {
            Position::At(position) => facts.position == position,
            Position::Any | Position::Next => true,
        }
    }

    fn describe(self) -> String {
        match self {
            Position::At(position) => position.to_string(),
            Position::Any | Position::Next => "any".to_owned(),
        }
    }
}

impl Agent {
    fn holds(&self, facts: &Facts) -> bool {
        match self {
            Agent::Main => facts.agent.is_none(),
            Agent::Sub => facts.agent.is_some(),
            Agent::Id(id) => facts.agent.as_ref() == Some(id),
            Agent::Any => true,
        }
    }

    fn describe(&self) -> String {
        match self {
            Agent::Main => "the main conversation".to_owned(),
            Agent::Sub => "a sub-agent".to_owned(),
            Agent::Id(id) => id.clone(),
            Agent::Any => "any".to_owned(),
        }
    }
}

impl ToolResultCondition {
    fn holds(&self, facts: &Facts) -> bool {
        facts.tool_results.iter().any(|result| {
            self.tool.as_ref().is_none_or(|tool| *tool == result.tool)
                && self.contains.as_ref().is_none_or(|text| result.text.contains(text))
                && self.is_error.is_none_or(|is_error| is_error == result.is_error)
        })
    }

    fn describe(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.tool.as_ref().map(|tool| format!("of {tool}")));
        parts.extend(self.contains.as_ref().map(|text| format!("contains {text:?}")));
        parts.extend(self.is_error.map(|is_error| format!("is_error {is_error}")));
        if parts.is_empty() { "any".to_owned() } else { parts.join(", ") }
    }
}

fn describe_results(facts: &Facts) -> String {
    if facts.tool_results.is_empty() {
        return "none".to_owned();
    }
    let results = facts.tool_results.iter().map(|result| {
        format!("of {}, {:?}, is_error {}", result.tool, clip(&result.text, 60), result.is_error)
    });
    results.collect::<Vec<_>>().join("; ")
}

/// The turn that came nearest to answering, with what kept it from doing so.
pub(crate) fn nearest<'s>(turns: &'s [Turn], request: &ApiRequest) -> Option<(&'s Turn, Vec<String>)> {
    // Fewest failures; among equals the nearest position, since a script that is one turn short is the usual cause.
    let distance = |turn: &Turn| match turn.when.position {
        Position::At(position) => position.abs_diff(request.facts.position),
        Position::Any | Position::Next => 0,
    };
    turns
        .iter()
        .map(|turn| (turn, turn.when.misses(request)))
        .min_by_key(|(turn, misses)| (misses.len(), distance(turn)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::scenario::Scenario;
    use serde_json::json;

    fn turns(text: &str) -> Vec<Turn> {
        Scenario::parse("test.toml", &format!("scenario.name = \"t\"\n{text}")).unwrap().script.turns
    }

    fn request(body: &Value, agent: Option<&str>) -> ApiRequest {
        let headers = agent.map(|id| ("x-claude-code-agent-id".to_owned(), id.to_owned()));
        ApiRequest::new("POST", "/v1/messages", headers.into_iter().collect(), body.to_string().as_bytes())
    }

    fn answering(turns: &[Turn], request: &ApiRequest) -> Vec<String> {
        for turn in turns {
            let by_words = turn.when.misses(request).is_empty();
            assert_eq!(turn.when.matches(request), by_words, "the two forms disagree on {}", turn.name);
        }
        turns.iter().filter(|turn| turn.when.matches(request)).map(|turn| turn.name.clone()).collect()
    }

    #[test]
    fn turns_are_counted_in_each_conversation_by_itself() {
        let turns = turns(
            "[[api.turns]]\ntext = \"a\"\n[[api.turns]]\nwhen.agent = true\ntext = \"b\"\n\
             [[api.turns]]\nwhen.agent = true\ntext = \"c\"\n[[api.turns]]\ntext = \"d\"\n\
             [[api.turns]]\nwhen = { agent = true, prompt = \"other\" }\ntext = \"e\"",
        );
        let positions: Vec<_> = turns.iter().map(|turn| turn.when.position).collect();
        assert_eq!(positions, [1, 1, 2, 2, 1].map(Position::At));
        let first = json!({"messages": [{"role": "user", "content": "the other one"}]});
        assert_eq!(answering(&turns, &request(&first, None)), ["turn-1"]);
        assert_eq!(answering(&turns, &request(&first, Some("abc"))), ["turn-2", "turn-5"]);
        assert!(turns[4].when.specificity() > turns[1].when.specificity());
    }

    #[test]
    fn conditions_that_hold_anywhere_need_no_position() {
        let turns = turns(
            "[[api.turns]]\nwhen.tool_result = { tool = \"Bash\", is_error = true }\ntext = \"a\"\n\
             [[api.turns]]\nwhen.pointer = { \"/max_tokens\" = 5 }\ntext = \"b\"\n\
             [[api.turns]]\nwhen = { turn = \"any\", model = \"haiku\", system = \"brief\" }\ntext = \"c\"",
        );
        let body = json!({"model": "claude-haiku-4-5", "max_tokens": 5, "system": "Be brief.", "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "Bash", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "is_error": true}]},
        ]});
        assert_eq!(answering(&turns, &request(&body, None)), ["turn-1", "turn-2", "turn-3"]);
        let other =
            json!({"model": "claude-opus", "max_tokens": 6, "messages": [{"role": "user", "content": "x"}]});
        assert_eq!(answering(&turns, &request(&other, None)), Vec::<String>::new());
    }

    #[test]
    fn the_nearest_turn_comes_with_what_kept_it() {
        let turns = turns(
            "[[api.turns]]\ntext = \"a\"\n[[api.turns]]\ntext = \"b\"\n\
             [[api.turns]]\nwhen = { model = \"opus\", agent = true }\ntext = \"c\"",
        );
        let body = json!({"model": "haiku", "messages": [
            {"role": "user", "content": "x"}, {"role": "assistant", "content": "a"},
            {"role": "user", "content": "x"}, {"role": "assistant", "content": "b"},
            {"role": "user", "content": "x"},
        ]});
        let request = request(&body, None);
        assert_eq!(answering(&turns, &request), Vec::<String>::new());
        let (turn, misses) = nearest(&turns, &request).unwrap();
        assert_eq!((turn.name.as_str(), misses), ("turn-2", vec!["turn: expected 2, found 3".to_owned()]));
    }
}
