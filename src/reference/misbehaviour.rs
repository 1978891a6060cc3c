//! The ways in which the reference target can be told to be wrong.

use std::str::FromStr;

use crate::text::nearest;

/// Name and description of every misbehaviour. Each is a class of regression that shipped in an agent command line, or
/// a way in which a process goes wrong.
pub const MISBEHAVIOURS: &[(&str, &str)] = &[
    // claw: regressions that shipped.
    ("prose-on-stderr", "an error is prose on standard error, and standard output is empty"),
    ("bypassed-formatter", "an error is prose on standard error with exit code 2"),
    ("prose-on-stdout", "standard output is prose with exit code 0 although JSON was asked for"),
    ("compact-wins", "--compact makes the output text although JSON was asked for"),
    ("flag-swallowed", "the flags after a question are sent to the model, and text comes out"),
    ("double-envelope", "an error follows the report as a second document"),
    ("empty-stdout", "nothing is printed, with exit code 0"),
    ("error-on-stderr", "the error envelope is on standard error"),
    ("stderr-warning", "a warning on standard error beside the envelope"),
    ("prefix", "a warning stands before the envelope on standard output"),
    ("error-exit-0", "an error envelope with exit code 0"),
    ("exit-code-lie", "the envelope's exit_code is not the process's"),
    ("text-exit-differs", "a failure exits with 0 in text mode only"),
    ("usage-on-stderr", "a wrong argument gets usage on standard error and no envelope"),
    ("hang", "waits for ever and prints nothing"),
    ("fall-through", "an unknown command is sent to the model as a question"),
    ("untyped-error", "an error without its kind"),
    ("kind-unknown", "every error is of kind unknown"),
    ("duplicate-keys", "a key stands twice in the envelope"),
    ("sibling-drift", "the answer is called text, not message"),
    ("prose-in-json", "structured data only as one text"),
    ("lying-status", "a broken configuration is reported as fine"),
    ("secret-leak", "the API key is in the envelope"),
    ("not-a-number", "a number is NaN"),
    ("lone-surrogate", "a text holds half of a surrogate pair"),
    ("mcp-stderr", "what an MCP server says on standard error is passed on"),
    ("missing-value-ignored", "a flag without its value is passed over"),
    ("bytes-panic", "an argument that is not UTF-8 is a panic"),
    ("cwd-panic", "a working directory that is not UTF-8 is a panic"),
    ("lost-output-panics", "an envelope that cannot be written is a panic"),
    ("lost-output-hidden", "an envelope that cannot be written is a success"),
    ("terminal-prefix", "a warning stands before the envelope, but only on a terminal"),
    // claude: streams that readers stumble over.
    ("no-result", "exits with 0 and without a result"),
    ("cut-line", "the last line is cut in the middle"),
    ("missing-init", "no init message"),
    ("exit-0-on-error", "an error result with exit code 0"),
    ("error-masked", "an API error is reported as a success"),
    ("second-result", "the result comes twice"),
    ("not-json", "a line of prose in the stream"),
    ("not-utf8", "a byte that is no UTF-8 in the stream"),
    ("same-uuid", "two messages have the same uuid"),
    ("other-session", "a message is of another session"),
    ("tool-unanswered", "a tool call without its result"),
    ("usage-off", "the result's usage is not the sum of its messages"),
    ("denial-hidden", "a denied tool call is not listed"),
    ("talks-after-result", "an assistant message after the result"),
    ("retries-unasked", "sends its request twice"),
    // claude: what is said over standard input.
    ("denied-runs", "a tool call that the host denied is made"),
    ("allowed-refused", "a tool call that the host allowed is refused"),
    ("input-unchanged", "a tool call is made with its first input, although the host changed it"),
    ("runs-unasked", "a tool call is made before the host has answered"),
    ("asks-twice", "the host is asked twice about a tool call"),
    ("asks-other-input", "the host is asked about another input than that of the call"),
    ("asks-after-result", "the host is asked about a tool call after the result"),
    ("same-request-id", "two requests to the host have the same id"),
    ("answers-other-id", "a request of the host is answered under another id"),
    ("answers-twice", "a request of the host is answered twice"),
    ("never-answers", "a request of the host is not answered"),
    ("interrupt-ignored", "an interrupt is said to be a success, and the answer goes on"),
    ("set-model-ignored", "another model is said to be set, and the old one is asked"),
    ("set-mode-ignored", "another permission mode is said to be set, and the old one holds"),
    ("hook-unknown", "a hook is called that the host did not register"),
    ("hook-ignored", "a tool call that a hook of the host denied is made"),
    ("mcp-other-server", "a message is for a server that the host does not have"),
    ("mcp-result-lost", "what a tool of the host answered is replaced"),
    ("replay-lost", "a message of the user is not printed again"),
    ("drops-output", "does not wait for its reader: what does not fit into the pipe is lost"),
    ("lone-return", "lines end in a carriage return alone"),
    ("prints-late", "nothing is printed before the run is over"),
    // claude: what is printed is not what the API served.
    ("answer-replaced", "every text of the model is replaced by another, in the result too"),
    ("answer-cut", "half of every text of the model is lost, in the result too"),
    ("answer-doubled", "every text of the model is said twice, in the result too"),
    ("message-twice", "every message of the model is printed twice"),
    ("thinking-lost", "thoughts are not printed"),
    ("thinking-altered", "thoughts are replaced by others"),
    ("tool-input-changed", "a tool call is printed with another input"),
    ("tool-renamed", "a tool call is printed with another name"),
    ("tool-result-altered", "what is printed of a tool is not what it answered"),
    ("tool-error-hidden", "a tool that failed is printed as one that did not"),
    ("report-lost", "what a sub-agent reported is thrown away"),
    ("reports-swapped", "two sub-agents get the report of each other"),
    ("other-model-named", "messages name another model than the one that answered"),
    ("partial-altered", "the parts of an answer are not those of the API"),
    ("partial-lost", "some parts of an answer are not printed"),
    ("retry-untold", "failures that were asked for again are not told of"),
    ("retry-status-off", "a retry is told of with another status"),
    // claude: the result is not what happened.
    ("result-replaced", "the result is a text that nobody said"),
    ("result-empty", "the result is empty although something was said"),
    ("result-first-chunk", "the result is the beginning of the answer"),
    ("stop-reason-off", "the result names another stop reason"),
    ("usage-halved", "the result counts half of the tokens"),
    ("usage-zero", "the result and its models count no tokens"),
    ("model-usage-off", "the tokens of the models are not those of the result"),
    ("other-model-counted", "tokens are counted for a model that was not asked"),
    ("cost-zero", "tokens cost nothing"),
    ("turns-off", "the result counts three turns more"),
    ("api-time-off", "the time in the API is longer than the run"),
    ("duration-off", "the run claims to have taken an hour"),
    ("status-off", "a failure of the API is told of with another status"),
    ("failure-hidden", "a failure of the API ends in a success, without a trace of it"),
    ("task-never-ended", "the end of a task is not told"),
    // claude: what was asked is not done.
    ("session-id-ignored", "--session-id is ignored"),
    ("resume-elsewhere", "--resume goes on in another session"),
    ("continue-ignored", "--continue begins a new session"),
    ("fork-ignored", "--fork-session goes on in the session itself"),
    ("model-ignored", "--model is ignored"),
    ("max-turns-ignored", "--max-turns is ignored"),
    ("budget-ignored", "--max-budget-usd is ignored"),
    ("schema-ignored", "--json-schema is ignored: what does not fit is passed on"),
    ("permission-mode-ignored", "--permission-mode is ignored"),
    ("allowed-tools-ignored", "--allowedTools is ignored"),
    ("disallowed-tools-ignored", "--disallowedTools is ignored"),
    ("system-prompt-ignored", "--system-prompt and --append-system-prompt are ignored"),
    ("cwd-wrong", "the first message names another directory"),
    ("version-wrong", "the first message names another version"),
    ("prompt-cut", "what is beyond a thousand characters of a prompt is not sent"),
    ("prompt-mangled", "letters beyond ASCII are sent as question marks"),
    ("stdin-lost", "standard input is not sent when there is a prompt too"),
    ("slash-arguments-lost", "what follows a slash command is not sent"),
    ("history-lost", "what was said before is not sent again"),
    ("key-other", "requests carry another key"),
    // claude: MCP servers.
    ("mcp-dead-connected", "a server that failed is called connected"),
    ("mcp-live-failed", "a server that answers is called failed"),
    ("mcp-server-untold", "the servers that were asked for are not told"),
    ("mcp-tool-invented", "a tool is offered that no server has"),
    ("mcp-call-invented", "a call never reaches its server, and has a result"),
    ("mcp-call-twice", "each call reaches its server twice"),
    ("mcp-arguments-changed", "a call reaches its server with other arguments"),
    ("mcp-result-invented", "what a server answered is replaced by another text"),
    ("mcp-error-hidden", "a call that failed is told as one that did not"),
    ("mcp-server-left", "servers are left to themselves at the end"),
    // Workers of the claws event protocol.
    ("worker-no-boot", "a worker that never says its boot"),
    ("worker-skips-phase", "a worker that leaves out a phase"),
    ("worker-silent", "a worker that gives no heartbeat for 45 seconds"),
    ("worker-forges-sender", "a worker that names another sender"),
    ("worker-completes-twice", "a worker that completes twice"),
    // Any: processes that go wrong.
    ("late-exit", "does not exit after its result"),
    ("crash", "dies by a signal in the middle"),
    ("panic", "exits with 101 and a panic on standard error"),
    ("endless-output", "prints for ever"),
    ("silent", "prints nothing and does not exit"),
    ("stalls", "stops in the middle of its output and does not exit"),
    ("ignores-term", "prints nothing, does not exit, and ignores TERM"),
    ("huge-stderr", "prints 24 MB on standard error"),
    ("closes-stdout", "closes standard output early and goes on"),
    ("leaves-child", "leaves a child that holds standard output"),
    ("leaves-session", "leaves a child in a session of its own"),
    ("leaves-daemon", "leaves a daemon that has forked twice"),
    ("writes-outside", "leaves a file in /tmp"),
    ("leaves-socket", "leaves a child that listens on a port"),
];

/// A misbehaviour that was asked for: one of [`MISBEHAVIOURS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Misbehaviour(&'static str);

impl Misbehaviour {
    pub(crate) fn name(self) -> &'static str {
        self.0
    }
}

impl FromStr for Misbehaviour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut names = MISBEHAVIOURS.iter().map(|(name, _)| *name);
        match names.clone().find(|name| *name == text) {
            Some(name) => Ok(Self(name)),
            None => Err(match nearest(text, names.clone()) {
                Some(known) => format!("unknown misbehaviour `{text}`, did you mean `{known}`?"),
                None => format!(
                    "unknown misbehaviour `{text}`, expected one of: {}",
                    names.by_ref().collect::<Vec<_>>().join(", ")
                ),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_others_get_the_nearest() {
        for (name, _) in MISBEHAVIOURS {
            assert_eq!(name.parse::<Misbehaviour>().map(Misbehaviour::name).as_ref(), Ok(name));
        }
        assert_eq!(
            "no-results".parse::<Misbehaviour>().unwrap_err(),
            "unknown misbehaviour `no-results`, did you mean `no-result`?"
        );
        assert!("".parse::<Misbehaviour>().unwrap_err().contains("expected one of: prose-on-stderr, "));
    }
}
