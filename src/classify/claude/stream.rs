//! The verdict on a run of a Claude CLI, from its stream or its result document: what single messages mean stands in the
//! contract of the dialect, and what takes several of them is decided here.

use crate::stream_json::{Fate, ResultFacts, Session};

use super::super::api_error;
use super::super::offer::Work;
use super::super::process::{before_output, ended_without_result, failed_after_success, refused_to_start};
use super::super::question::asks_the_user;
use super::super::rows::Rows;
use super::super::slash_command::{self, says_unknown};
use super::super::{Advisory, Basis, Class, Evidence, Process, Verdict};

/// Everything that the rows look at.
struct Case<'a> {
    session: &'a Session,
    /// What the contract says that single messages mean.
    rows: Rows<'a>,
    process: &'a Process<'a>,
    /// Lines with something on them.
    lines: u64,
    heuristics: bool,
}

/// Decides the verdict. `rows` are those of the contract of the dialect, `lines` counts the output lines that are not blank;
/// `heuristics` is the document's `allow_hang_heuristic`.
pub(crate) fn classify<'a>(
    session: &'a Session,
    rows: Rows<'a>,
    process: &'a Process<'a>,
    lines: u64,
    heuristics: bool,
) -> Verdict {
    let case = Case { session, rows, process, lines, heuristics };
    let rows: [fn(&Case<'a>) -> Option<Verdict>; 13] = [
        |case| before_output(case.process),
        Case::no_result,
        Case::refused,
        Case::open_pass,
        |case| case.of_class(Class::Interrupted),
        Case::limit,
        Case::api,
        Case::not_found,
        |case| failed_after_success(case.process),
        Case::response_truncated,
        |case| case.of_class(Class::Blocked),
        Case::heuristic,
        Case::silent,
    ];
    let mut verdict = rows.iter().find_map(|row| row(&case)).unwrap_or_else(|| {
        Verdict::of(Class::Ok, None, case.session.results.last().map(ok_evidence).into_iter().collect())
    });
    case.advise(&mut verdict);
    verdict
}

fn ok_evidence(result: &ResultFacts) -> Evidence {
    let subtype = result.subtype.as_deref().unwrap_or("result");
    Evidence::field("result", subtype).at(result.line, "/subtype")
}

impl Case<'_> {
    fn results(&self) -> impl Iterator<Item = &ResultFacts> {
        self.session.results.iter()
    }

    /// No result was seen: time ran out, the process died, it refused to start, it spoke something else, or it was
    /// cut off.
    fn no_result(&self) -> Option<Verdict> {
        if self.late_result().is_some() {
            return self.ended();
        }
        if !self.session.results.is_empty() {
            return None;
        }
        if let Some(verdict) = self.ended() {
            return Some(verdict);
        }
        let failed = self.process.exit.code != Some(0);
        if let Some(verdict) = refused_to_start(self.process, self.lines) {
            return Some(verdict);
        }
        if self.lines > 0 && self.session.typed == 0 && !self.session.cut {
            let evidence = Evidence::field("no-messages", self.lines);
            return Some(Verdict::by(Class::Protocol, None, evidence));
        }
        let names_an_error = self.process.stderr.trim_start().to_ascii_lowercase().starts_with("error:");
        if failed && names_an_error {
            return Some(Verdict::by(Class::Usage, None, self.process.stderr_evidence("refused-midway")));
        }
        let count = format!("{} messages, none of them a result", self.session.messages);
        let mut evidence = vec![Evidence::field("no-result", count)];
        if let Some(error) = &self.session.pass.error {
            evidence.push(Evidence::field("assistant-error", error.kind.clone()).at(error.line, "/error"));
        }
        Some(Verdict::of(Class::Truncated, None, evidence))
    }

    /// The process ended, or was ended, without its result. If a timer ended it while the provider was failing, the
    /// provider is the cause.
    fn ended(&self) -> Option<Verdict> {
        let requests = self.process.facts.requests;
        ended_without_result(self.process, || {
            let told = api_error::of_retries(self.session, self.late_result());
            let told = told.map(|cause| api_error::blame_connection(cause, "", requests));
            let waits_for_tool = self.session.tools.any_open();
            told.or_else(|| self.process.failing_provider().filter(|_| !waits_for_tool))
        })
    }

    /// The last result, if it came because a timer ended the run, and none before it tells of a failure.
    fn late_result(&self) -> Option<&ResultFacts> {
        let in_time = self.process.in_time();
        let is_empty = !self.says_something();
        let is_late =
            |result: &&ResultFacts| in_time.is_late(result.offset, is_empty && !result.is_failure());
        let failed = self.results().any(|result| result.is_failure() && !is_late(&result));
        self.session.results.last().filter(is_late).filter(|_| !failed)
    }

    /// Whether anything was said, or nobody was asked to say anything.
    fn says_something(&self) -> bool {
        let said = self.session.final_text.is_some()
            || self.results().any(|result| {
                result.partial
                    || result.structured_output
                    || result.text.as_deref().is_some_and(|text| !text.trim().is_empty())
            });
        // A command of the CLI itself may have nothing to say.
        let asked_nobody = self.process.facts.asked.is_none_or(|asked| asked == 0);
        let is_local = |last: &ResultFacts| last.is_local() && (asked_nobody || last.local_output.is_some());
        said || self.session.results.last().is_some_and(is_local)
    }

    /// A result that only says that the arguments were refused.
    fn refused(&self) -> Option<Verdict> {
        let result = self.results().find(|result| {
            result.subtype.as_deref() == Some("error_during_execution")
                && result.num_turns == Some(0)
                && result.terminal_reason.is_none()
                && result.assistant_error.is_none()
                && result.api_error_status.is_none()
        })?;
        let error = result.errors.first().map_or("", String::as_str);
        let evidence = Evidence::field("refused-to-start", error).at(result.line, "/errors/0");
        Some(Verdict::by(Class::Usage, None, evidence))
    }

    /// The main loop was entered again after the last result and did not come to an end.
    fn open_pass(&self) -> Option<Verdict> {
        let line = self.session.pass.answered?;
        let evidence = Evidence::field("no-result-after-re-entry", line).at(line, "");
        if let Some(mut verdict) = self.ended() {
            verdict.evidence.push(evidence);
            return Some(verdict);
        }
        Some(Verdict::by(Class::Truncated, None, evidence))
    }

    /// What the contract says of this class.
    fn of_class(&self, class: Class) -> Option<Verdict> {
        self.rows.of_class(self.process, class)
    }

    /// A limit that the contract knows, or one that a newer version names.
    fn limit(&self) -> Option<Verdict> {
        if let Some(verdict) = self.of_class(Class::Limit) {
            return Some(verdict);
        }
        let is_limit = |result: &&ResultFacts| {
            result.text.is_none()
                && result.subtype.as_deref().is_some_and(|subtype| subtype.starts_with("error_max_"))
        };
        let result = self.results().find(is_limit)?;
        let subtype = result.subtype.as_deref().unwrap_or_default();
        let detail = subtype.trim_start_matches("error_");
        let evidence = Evidence::field("result-subtype", subtype).at(result.line, "/subtype");
        Some(Verdict::by(Class::Limit, Some(detail), evidence))
    }

    /// The gravest API failure of any result. Why a reply stopped says more than a general API error, and less than a limit
    /// or missing credentials.
    fn api(&self) -> Option<Verdict> {
        let Some(stopped) = self.of_class(Class::Api) else { return self.named_failure(api_error::name) };
        let named = self.named_failure(api_error::name_by_fields).filter(|named| named.class != Class::Api);
        Some(named.unwrap_or(stopped))
    }

    fn named_failure(&self, name: fn(&ResultFacts, &Session) -> Option<Verdict>) -> Option<Verdict> {
        let requests = self.process.facts.requests;
        let named = self.results().filter_map(|result| {
            let verdict = name(result, self.session)?;
            // What came back with a status was reached.
            let text = result.api_error_status.is_none().then(|| api_error::failure_text(result));
            Some(api_error::blame_connection(verdict, &text.unwrap_or_default(), requests))
        });
        named.min_by_key(|verdict| verdict.class)
    }

    fn not_found(&self) -> Option<Verdict> {
        let result = self.results().find(|result| is_unknown_command(result))?;
        let text = result.text.as_deref().unwrap_or_default();
        let evidence = Evidence::new("unknown-command", Basis::Keyword, text).at(result.line, "/result");
        Some(Verdict::by(Class::NotFound, None, evidence))
    }

    /// The last reply was cut, or it only paused.
    fn response_truncated(&self) -> Option<Verdict> {
        if let Some(verdict) = self.of_class(Class::Truncated) {
            return Some(verdict);
        }
        let pauses = |result: &&ResultFacts| {
            result.stop_reason.as_ref().is_some_and(|reason| reason.as_deref() == Some("pause_turn"))
        };
        let result = self.session.results.last().filter(pauses)?;
        let evidence = Evidence::field("stop-reason", result.stop_reason.clone().flatten());
        Some(Verdict::by(Class::Truncated, Some("response"), evidence.at(result.line, "/stop_reason")))
    }

    /// The classes that are guesses; the first that holds.
    fn heuristic(&self) -> Option<Verdict> {
        [(Class::Interactive, self.asks()), (Class::BackgroundTask, self.background())]
            .into_iter()
            .find_map(|(class, evidence)| evidence.map(|evidence| Verdict::of(class, None, vec![evidence])))
            .or_else(|| self.of_class(Class::Permission))
    }

    fn asks(&self) -> Option<Evidence> {
        if !self.heuristics {
            return None;
        }
        if let Some(line) = self.session.asked_user() {
            return Some(
                Evidence::new("ask-user-question", Basis::Heuristic, "AskUserQuestion")
                    .at(line, "/message/content"),
            );
        }
        let last = self.session.results.last()?;
        let reason = last.stop_reason.as_ref().and_then(Option::as_deref);
        if last.is_failure() || reason.is_some_and(|reason| reason != "end_turn") {
            return None;
        }
        // A local command such as /context prints text of the CLI itself, which asks nobody.
        if !last.model_answered && last.num_turns == Some(0) {
            return None;
        }
        let (text, line, pointer) = match last.text_end.as_deref().filter(|text| !text.trim().is_empty()) {
            Some(text) => (text, last.line, "/result"),
            None => (self.session.final_text.as_deref()?, self.session.final_text_line, "/message/content"),
        };
        let question = asks_the_user(text, self.work())?;
        Some(Evidence::new("final-question", Basis::Heuristic, question).at(line, pointer))
    }

    /// What is seen of the work besides what the agent says of it.
    fn work(&self) -> Work {
        const WRITERS: [&str; 4] = ["Edit", "MultiEdit", "Write", "NotebookEdit"];
        let tools = &self.session.tools.by_name;
        let wrote = WRITERS.iter().filter_map(|name| tools.get(*name));
        let wrote = wrote.into_iter().any(|stats| stats.calls > stats.errors + stats.unanswered);
        Work::seen((wrote || self.process.facts.wrote_files) && self.session.denials.is_empty())
    }

    fn background(&self) -> Option<Evidence> {
        if !self.heuristics {
            return None;
        }
        let task = self.session.tasks().iter().find(|task| task.is_lost())?;
        let fate = match task.fate {
            Fate::Failed => "failed",
            Fate::Stopped => "stopped",
            _ => "not finished",
        };
        let name = task.description.as_deref().or(task.id.as_deref()).unwrap_or("background work");
        Some(Evidence::new("lost-task", Basis::Heuristic, format!("{name}: {fate}")).at(task.line, ""))
    }

    fn silent(&self) -> Option<Verdict> {
        let last = self.session.results.last()?;
        let evidence = Evidence::field("nothing-said", "").at(last.line, "/result");
        (!self.says_something()).then(|| Verdict::of(Class::NoOutput, None, vec![evidence]))
    }

    /// Adds what holds besides the class; where it is a matter of its own, with its evidence.
    fn advise(&self, verdict: &mut Verdict) {
        let class = verdict.class;
        let has_result = !self.session.results.is_empty() && class != Class::Timeout;
        let was_ended = verdict.advisories.contains(&Advisory::TimedOut);
        let late = self.process.late_exit().filter(|_| has_result && !was_ended);
        let unknown = self.unknown_command().filter(|_| class != Class::NotFound);
        let failed = self.failed_command().filter(|_| class != Class::NotFound);
        let holding = [
            (Advisory::Interactive, class != Class::Interactive && self.asks().is_some()),
            (Advisory::BackgroundTask, class != Class::BackgroundTask && self.background().is_some()),
            (Advisory::Permission, class != Class::Permission && self.of_class(Class::Permission).is_some()),
            (Advisory::Retried, self.session.retries.count > 0),
            (Advisory::SubagentApiError, self.session.subagent_error.is_some()),
            (Advisory::LateExit, late.is_some()),
            (Advisory::NotFound, unknown.is_some()),
            (Advisory::LocalCommandFailed, failed.is_some()),
        ];
        let holding = holding.into_iter().filter_map(|(advisory, holds)| holds.then_some(advisory));
        verdict.advisories.extend(holding);
        verdict.evidence.extend([late, unknown, failed].into_iter().flatten());
    }

    /// A slash command in the prompt that the CLI does not list, and that a model answered.
    fn unknown_command(&self) -> Option<Evidence> {
        let name = slash_command::name(self.process.facts.prompt.as_deref()?)?;
        let known = self.session.commands.as_ref()?;
        let is_known = known.iter().any(|command| slash_command::is_called(command, name));
        let was_answered = self.results().any(|result| result.model_answered);
        (!is_known && was_answered).then(|| Evidence::field("unknown-slash-command", format!("/{name}")))
    }

    /// A command of the CLI itself that says that it failed.
    fn failed_command(&self) -> Option<Evidence> {
        self.results().filter(|result| result.is_local()).find_map(|result| {
            let output = result.local_output.as_ref();
            let evidence = slash_command::failure(output, result.text.as_deref().unwrap_or_default())?;
            Some(match output {
                Some(output) => evidence.at(output.line, "/message/content"),
                None => evidence.at(result.line, "/result"),
            })
        })
    }
}

/// The CLI's own words for a name it does not know; a model that says the same is not meant.
fn is_unknown_command(result: &ResultFacts) -> bool {
    let asked_nobody = result.num_turns == Some(0) || result.usage.output == 0;
    !result.model_answered && asked_nobody && result.text.as_deref().is_some_and(says_unknown)
}
