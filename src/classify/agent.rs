//! The verdict on a run of an agent whose contract says in a table what its messages mean.
//!
//! The order is that of every verdict: what the process did without a result, then the signs in the order of their
//! classes, then the words of a failure that no sign names, then what a success left undone.

use crate::outcome::{Row, Table, Told, Words};

use super::api_error;
use super::offer::Work;
use super::process::{before_output, ended_without_result, failed_after_success, refused_to_start};
use super::question::asks_the_user;
use super::rows::{Rows, class};
use super::{Advisory, Basis, Class, Evidence, Process, Verdict};

struct Case<'a> {
    table: &'a Table,
    told: &'a Told,
    process: &'a Process<'a>,
    /// Lines with something on them.
    lines: u64,
    heuristics: bool,
}

/// Decides the verdict on what was told, by the table that it was read by. `lines` counts the output lines that are not
/// blank; without `heuristics` no question is looked for.
pub(crate) fn classify(
    table: &Table,
    told: &Told,
    process: &Process<'_>,
    lines: u64,
    heuristics: bool,
) -> Verdict {
    let case = Case { table, told, process, lines, heuristics };
    let mut verdict = before_output(process)
        .or_else(|| case.without_end())
        .or_else(|| case.by_row(|_| true))
        .or_else(|| case.by_failure())
        .or_else(|| failed_after_success(process))
        .or_else(|| case.success_left_undone())
        .unwrap_or_else(|| Verdict::by(Class::Ok, None, case.end_evidence()));
    case.advise(&mut verdict);
    verdict
}

/// The verdict on a speaker of the Claude dialect that a timer ended: what its own table says that it was waiting for.
pub(crate) fn cause(table: &Table, told: &Told, process: &Process<'_>, verdict: Verdict) -> Verdict {
    let case = Case { table, told, process, lines: 0, heuristics: false };
    let cause = || ended_without_result(process, || case.waited_for());
    if verdict.class == Class::Timeout { cause().unwrap_or(verdict) } else { verdict }
}

/// A stream of an agent that nobody knows: nothing tells whether it is whole, let alone what it means.
pub(crate) fn unknown_agent(kinds: &[&str], process: &Process<'_>, lines: u64) -> Verdict {
    let ended = || ended_without_result(process, || process.failing_provider());
    let by_process = before_output(process).or_else(ended).or_else(|| refused_to_start(process, lines));
    by_process.unwrap_or_else(|| {
        let words = match kinds {
            [] if lines == 0 => "nothing was printed".to_owned(),
            [] => "messages of no agent that is known".to_owned(),
            kinds => format!("messages of type {}", kinds.join(", ")),
        };
        let mut verdict =
            Verdict::by(Class::Protocol, Some("unknown-agent"), Evidence::field("unknown-agent", words));
        if process.exit_known {
            verdict.evidence.push(process.exit_evidence("exit-code"));
        }
        verdict
    })
}

impl Case<'_> {
    /// No message ended the run: time ran out, the process died, it refused to start, it spoke something else, or it was
    /// cut off. Of an agent whose messages end no run, the exit is the end.
    fn without_end(&self) -> Option<Verdict> {
        if self.told.end.is_some() {
            return None;
        }
        let ended = ended_without_result(self.process, || self.waited_for());
        if self.process.timed_out().is_some() {
            return ended;
        }
        // A contract that knows an exit code or what stderr says knows better than a trace on stderr.
        let is_killed = self.process.exit.signal.is_some();
        let by_process = || self.by_row(Row::needs_process).filter(|_| !is_killed);
        if let Some(verdict) = by_process().or(ended) {
            return Some(verdict);
        }
        if let Some(verdict) = self.by_row(|_| true) {
            return Some(verdict);
        }
        if let Some(verdict) = refused_to_start(self.process, self.lines) {
            return Some(verdict);
        }
        if self.lines > 0 && self.told.known == 0 && !self.told.session.cut {
            return Some(Verdict::by(Class::Protocol, None, Evidence::field("no-messages", self.lines)));
        }
        // Where nobody saw the exit, a failure is the last word.
        let may_have_failed = !self.process.exit_known || self.process.exit.code != Some(0);
        if may_have_failed && let Some(verdict) = self.by_told_failure() {
            return Some(verdict);
        }
        if !self.table.has_end {
            return self.by_exit();
        }
        let count = format!("{} messages, none of them an end", self.told.session.messages);
        Some(Verdict::by(Class::Truncated, None, Evidence::field("no-end", count)))
    }

    /// The failure of the provider that a run was waiting out when a timer ended it: what the messages tell of it, or what the
    /// scripted API does.
    fn waited_for(&self) -> Option<Verdict> {
        let failing = |row: &Row| (Class::RateLimit..=Class::Api).contains(&class(row));
        let waits_for_tool = self.told.session.tools.any_open();
        let seen = || self.process.failing_provider().filter(|_| !waits_for_tool);
        self.by_row(failing).or_else(seen).or_else(|| self.by_told_failure())
    }

    /// The exit code is all that says how it ended.
    fn by_exit(&self) -> Option<Verdict> {
        let failed = self.process.exit.code != Some(0);
        failed.then(|| Verdict::by(Class::Error, Some("exit-code"), self.process.exit_evidence("exit-code")))
    }

    /// What the first row says that holds.
    fn by_row(&self, wanted: impl Fn(&Row) -> bool) -> Option<Verdict> {
        let rows = Rows { table: self.table, hits: &self.told.hits };
        let verdict = rows.first(self.process, wanted)?;
        let text = self.told.failure.as_ref().map_or("", |words| words.text.as_str());
        Some(api_error::blame_connection(verdict, text, self.process.facts.requests))
    }

    /// A failure that no row names: its words say which.
    fn by_failure(&self) -> Option<Verdict> {
        let end = self.told.end.as_ref().filter(|end| end.failed)?;
        let words = end.message.as_ref().or(self.told.failure.as_ref());
        let Some(words) = words else {
            let evidence = Evidence::field("failed-end", true).at(end.line, "");
            return Some(Verdict::by(Class::Error, None, evidence));
        };
        Some(self.by_words(words))
    }

    fn by_told_failure(&self) -> Option<Verdict> {
        self.told.failure.as_ref().map(|words| self.by_words(words))
    }

    fn by_words(&self, words: &Words) -> Verdict {
        let mut verdict = api_error::by_words(&words.text);
        for evidence in &mut verdict.evidence {
            (evidence.line, evidence.pointer) = (Some(words.line), Some(words.pointer.clone()));
            if evidence.rule == "is-error" {
                *evidence = Evidence::new("failure-told", Basis::Structured, words.text.as_str())
                    .at(words.line, &words.pointer);
            }
        }
        api_error::blame_connection(verdict, &words.text, self.process.facts.requests)
    }

    /// A success that asks the user, or that says nothing.
    fn success_left_undone(&self) -> Option<Verdict> {
        if let Some(question) = self.asks() {
            return Some(Verdict::by(Class::Interactive, None, question));
        }
        let said = self.told.session.final_text.is_some();
        let mut nothing = Evidence::field("nothing-said", "");
        nothing.line = self.told.end.as_ref().map(|end| end.line);
        (!said).then(|| Verdict::by(Class::NoOutput, None, nothing))
    }

    fn asks(&self) -> Option<Evidence> {
        let session = &self.told.session;
        let ended_well = self.told.end.as_ref().is_none_or(|end| !end.failed);
        let text = session.final_text.as_deref().filter(|_| self.heuristics && ended_well)?;
        let question = asks_the_user(text, Work::seen(self.process.facts.wrote_files))?;
        Some(Evidence::new("final-question", Basis::Heuristic, question).at(session.final_text_line, ""))
    }

    fn end_evidence(&self) -> Evidence {
        match &self.told.end {
            Some(end) => Evidence::field("end", "success").at(end.line, ""),
            None => self.process.exit_evidence("exit-code"),
        }
    }

    /// Adds what holds besides the class.
    fn advise(&self, verdict: &mut Verdict) {
        let late = self.process.late_exit().filter(|_| self.told.end.is_some());
        let permission = self.by_row(|row| class(row) == Class::Permission).is_some();
        let holding = [
            (Advisory::Interactive, verdict.class != Class::Interactive && self.asks().is_some()),
            (Advisory::Permission, verdict.class != Class::Permission && permission),
            (Advisory::Retried, self.told.session.retries.count > 0),
            (Advisory::LateExit, late.is_some()),
        ];
        verdict
            .advisories
            .extend(holding.into_iter().filter_map(|(advisory, holds)| holds.then_some(advisory)));
        verdict.evidence.extend(late);
    }
}
