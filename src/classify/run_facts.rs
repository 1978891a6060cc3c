//! What was recorded around a run, as far as a verdict looks at it.

use serde_json::Value;

use crate::recording::Facts;

/// So many arrivals are recorded; a list of that length may lack the last ones.
const MOST_ARRIVALS: usize = 4096;

/// What a recording tells besides the output and the end of the process; of a bare output nothing is known.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunFacts {
    /// The prompt on the command line.
    pub prompt: Option<String>,
    /// How many requests reached the scripted API; none where nobody counted.
    pub requests: Option<usize>,
    /// How many of them asked a model for an answer, work on the side left out.
    pub asked: Option<usize>,
    /// The first request that no turn of the script answers.
    pub unmatched: Option<UnmatchedRequest>,
    /// Whether files of the working directory were written.
    pub wrote_files: bool,
    /// Milliseconds from the last byte of output to the end of the process.
    pub exit_delay_ms: Option<f64>,
    /// How many bytes it had printed when a timer ended it, where that was noted.
    pub(crate) printed_in_time: Option<u64>,
    /// How the API failed the last request for an answer, if it did.
    pub(crate) last_failure: Option<RequestFailure>,
}

/// How the API failed a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RequestFailure {
    /// Which request it was, counted from 0.
    pub(crate) request: usize,
    /// The HTTP status; none when the connection broke before one was sent.
    pub(crate) status: Option<i64>,
    /// The type of the error that was answered, also of one in a stream.
    pub(crate) kind: Option<String>,
    /// What the error said.
    pub(crate) message: Option<String>,
}

/// A request that no turn of the script answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnmatchedRequest {
    /// Which one it was, such as `request 2: POST /v1/messages`.
    pub name: String,
    /// What it said, clipped.
    pub body: String,
    /// The turn that came nearest, and why it did not answer.
    pub nearest: String,
}

impl RunFacts {
    /// What this recording tells.
    pub fn of(facts: &Facts) -> Self {
        let requests = facts.other.get("requests").and_then(Value::as_array);
        let files = facts.other.get("files").and_then(Value::as_array);
        let is_work = |file: &Value| {
            let path = file.get("path").and_then(Value::as_str);
            path.is_some_and(|path| path.starts_with("work/"))
        };
        Self {
            prompt: prompt(&facts.argv).map(str::to_owned),
            requests: requests.map(Vec::len),
            asked: requests.map(|requests| requests.iter().filter(|request| asks_a_model(request)).count()),
            unmatched: requests.into_iter().flatten().find_map(UnmatchedRequest::of),
            wrote_files: files.into_iter().flatten().any(is_work),
            exit_delay_ms: exit_delay_ms(facts),
            printed_in_time: facts.other.get("timed_out_at").and_then(|at| at.get(0)?.as_u64()),
            last_failure: requests.and_then(|requests| RequestFailure::of_last(requests, facts)),
        }
    }
}

impl RequestFailure {
    /// The failure of the last request that asked for an answer, if it failed.
    fn of_last(requests: &[Value], facts: &Facts) -> Option<Self> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let asks = |request: &Value| {
            let kind = request.get("kind").and_then(Value::as_str).unwrap_or_default();
            matches!(kind, "turn" | "mounted")
        };
        let (at, last) = requests.iter().enumerate().rev().find(|(_, request)| asks(request))?;
        let status = last.get("status").and_then(Value::as_i64);
        let served = facts.other.get("served").and_then(Value::as_array);
        let is_of_it = |served: &&Value| served.get("request").and_then(Value::as_u64) == Some(at as u64);
        let error = served.into_iter().flatten().find(is_of_it).and_then(|served| served.get("error"));
        let error = error.filter(|error| error.is_object());
        let broke = matches!(text(last, "outcome").as_deref(), Some("closed" | "reset"));
        let failed = broke || error.is_some() || status.is_some_and(|status| status >= 400);
        failed.then(|| Self {
            request: at,
            status: status.filter(|status| *status >= 400),
            kind: error.and_then(|error| text(error, "type")),
            message: error.and_then(|error| text(error, "message")),
        })
    }
}

/// Whether a request of the journal asks a model, and not on the side.
fn asks_a_model(request: &Value) -> bool {
    let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default();
    let path = text("path").split('?').next();
    path == Some("/v1/messages") && !matches!(text("kind"), "auxiliary" | "built-in")
}

impl UnmatchedRequest {
    fn of(request: &Value) -> Option<Self> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let unmatched = request.get("unmatched").filter(|unmatched| unmatched.is_object())?;
        let number = request.get("number").and_then(Value::as_u64);
        let number = number.map_or_else(|| "a request".to_owned(), |number| format!("request {number}"));
        let (method, path) = (text(request, "method"), text(request, "path"));
        let line = unmatched.get("line").and_then(Value::as_u64);
        let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
        let because = unmatched.get("because").and_then(Value::as_array);
        let because: Vec<&str> = because.into_iter().flatten().filter_map(Value::as_str).collect();
        let nearest = text(unmatched, "nearest").unwrap_or_else(|| "none".to_owned());
        Some(Self {
            name: format!("{number}: {} {}", method.unwrap_or_default(), path.unwrap_or_default()),
            body: text(unmatched, "request").unwrap_or_default(),
            nearest: format!("{nearest}{line}: {}", because.join("; ")),
        })
    }
}

/// The prompt of a command line: what follows `-p`, or what stands last and belongs to no option.
fn prompt(argv: &[String]) -> Option<&str> {
    let is_print = |word: &&String| matches!(word.as_str(), "-p" | "--print");
    let after_print = argv.iter().position(|word| is_print(&word)).and_then(|at| argv.get(at + 1));
    if let Some(prompt) = after_print.filter(|word| !word.starts_with('-')) {
        return Some(prompt);
    }
    let (last, before) = argv.split_last()?;
    let is_free = |word: &String| !word.starts_with("--") || word == "--print" || word == "--verbose";
    before.last().filter(|word| is_free(word) && before.len() > 1)?;
    (!last.starts_with('-')).then_some(last)
}

fn exit_delay_ms(facts: &Facts) -> Option<f64> {
    let arrivals = facts.other.get("arrivals")?.as_array()?;
    let last = arrivals.last().filter(|_| arrivals.len() < MOST_ARRIVALS)?.get(1)?.as_f64()?;
    Some(facts.duration_ms? as f64 - last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(more: &str) -> RunFacts {
        let text = format!(
            r#"{{"schema_version":1,"target":"t","target_version":"","scenario":"s","exit":{{"code":0}}{more}}}"#
        );
        RunFacts::of(&Facts::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn the_prompt_is_what_belongs_to_no_option() {
        let of = |argv: &[&str]| {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            prompt(&argv).map(str::to_owned)
        };
        assert_eq!(of(&["claude", "-p", "/x y", "--model", "m"]).as_deref(), Some("/x y"));
        assert_eq!(of(&["claude", "-p", "--verbose", "/x"]).as_deref(), Some("/x"));
        assert_eq!(of(&["claude", "-p", "--add-dir", "/tmp"]), None);
        assert_eq!(of(&["claude", "-p"]), None);
        assert_eq!(of(&["claude"]), None);
    }

    #[test]
    fn the_delay_of_the_exit_is_known_only_from_whole_lists() {
        let more = r#","duration_ms":9000,"arrivals":[[0,100.5],[9,2000]]"#;
        assert_eq!(facts(more).exit_delay_ms, Some(7000.0));
        assert_eq!(facts(r#","duration_ms":9000"#).exit_delay_ms, None);
        let many = format!(r#","duration_ms":9000,"arrivals":[{}[0,1]]"#, "[0,1],".repeat(MOST_ARRIVALS - 1));
        assert_eq!(facts(&many).exit_delay_ms, None);
    }

    #[test]
    fn a_request_is_unmatched_only_where_the_journal_says_so() {
        let known =
            r#","requests":[{"number":1,"kind":"turn","path":"/v1/messages","unmatched":null},{"path":"/"}]"#;
        assert_eq!(
            (facts(known).requests, facts(known).asked, facts(known).unmatched),
            (Some(2), Some(1), None)
        );
        assert_eq!((facts("").requests, facts("").asked), (None, None));
    }
}
