//! Scripts written in Rust instead of TOML.

use std::sync::Arc;

use serde_json::Value;
use wiremock::Mock;

use crate::harness::mock::Fault;
use crate::harness::mock::matcher::{Position, When};
use crate::harness::mock::script::reader::next_position;
use crate::harness::mock::script::{Block, MockFactory, Script, ToolInput, Turn, Usage};

impl Script {
    /// A script without an answer yet.
    ///
    /// ```
    /// use clawgate::testing::{Script, Turn};
    /// use serde_json::json;
    ///
    /// let script = Script::new()
    ///     .turn(Turn::new().text("Let me look.").tool("Bash", json!({"command": "ls"})))
    ///     .text("There is one file.");
    /// assert_eq!(script.turns[1].name, "turn-2");
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an answer that is one text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.turn(Turn::new().text(text))
    }

    /// Adds an answer, after those that the same conversation has already.
    #[must_use]
    pub fn turn(mut self, mut turn: Turn) -> Self {
        if turn.name.is_empty() {
            turn.name = format!("turn-{}", self.turns.len() + 1);
        }
        if turn.when.position == Position::Next {
            turn.when.position = next_position(&turn.when, &self.turns);
        }
        self.turns.push(turn);
        self
    }

    /// Mounts a mock of your own beside the turns. It is made anew for each run.
    ///
    /// It sees whole requests and its reply is what the client gets: status, headers and body. It comes before the turns;
    /// one of a priority above 100 is asked after them. An `expect` that is not met fails the case. A response header
    /// `x-clawgate-fault` names a fault of the transport, such as `rst:after-event=2`, and is not sent.
    ///
    /// ```
    /// use clawgate::testing::Script;
    /// use clawgate::testing::wiremock::{Mock, ResponseTemplate, matchers};
    ///
    /// let script = Script::new().text("Hello.").mount(|| {
    ///     Mock::given(matchers::path("/v1/models"))
    ///         .respond_with(ResponseTemplate::new(503).insert_header("x-clawgate-fault", "close:after-byte=3"))
    ///         .named("models")
    /// });
    /// ```
    #[must_use]
    pub fn mount(mut self, mock: impl Fn() -> Mock + Send + Sync + 'static) -> Self {
        self.mocks.push(MockFactory(Arc::new(mock)));
        self
    }

    /// With this seed for everything that looks like chance.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}

impl Turn {
    /// An answer that says nothing yet.
    ///
    /// ```
    /// use clawgate::testing::{Block, Turn};
    ///
    /// let turn = Turn::new().named("greeting").thinking("A greeting.").text("Hello.").stop_reason("end_turn");
    /// assert_eq!(turn.blocks[1], Block::Text("Hello.".into()));
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Under a name of its own in the journal and in faults.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Only for these requests.
    #[must_use]
    pub fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    /// Adds something that the model says.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.block(Block::Text(text.into()))
    }

    /// Adds something that the model thinks.
    #[must_use]
    pub fn thinking(self, text: impl Into<String>) -> Self {
        self.block(Block::Thinking(text.into()))
    }

    /// Adds a call of a tool, with its arguments.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, input: Value) -> Self {
        self.block(Block::Tool { id: None, name: name.into(), input: ToolInput::Json(input) })
    }

    /// Says a block of any kind.
    #[must_use]
    pub fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// Stops for this reason instead of the one that follows from what it says.
    #[must_use]
    pub fn stop_reason(self, reason: impl Into<String>) -> Self {
        Self { stop_reason: Some(reason.into()), ..self }
    }

    /// With these token counts.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        Self { usage, ..self }
    }

    /// With this going wrong; several are played attempt by attempt.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// It is no finding when nobody asks for it.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::run::scenario::Scenario;

    #[test]
    fn a_script_in_rust_is_the_same_as_in_a_file() {
        let file = r#"
            [scenario]
            name = "s"
            [api]
            seed = 3
            [[api.turns]]
            text = "Let me look."
            tool = { name = "Bash", input = { command = "ls" } }
            faults = ["http:status=429,times=1"]
            [[api.turns]]
            text = "Done."
            optional = true
        "#;
        let read = Scenario::parse("s.toml", file).unwrap_or_else(|error| panic!("{error}")).script;
        let turn = Turn::new()
            .text("Let me look.")
            .tool("Bash", json!({"command": "ls"}))
            .fault("http:status=429,times=1".parse().unwrap());
        let mut built = Script::new().seed(3).turn(turn).turn(Turn::new().text("Done.").optional());
        for (built, read) in built.turns.iter_mut().zip(&read.turns) {
            built.line = read.line;
        }
        assert_eq!(format!("{built:#?}"), format!("{read:#?}"));
    }
}
