//! What judges a case while it runs: its output as that of a run, or as the event log that it is.

use crate::classify::Verdict;
use crate::events::{Limits, Profile};
use crate::judge::{EVENTS_CONTRACT, Ending, Judge, Protocol, Settings, Shelf, is_of_events};
use crate::recording::Facts;
use crate::schema::{EventJudge, FileError, Finding, Run};
use crate::stream_json::Line;

/// Judges one output while it comes.
pub(super) enum Judging<'s> {
    Run { judge: Judge<'s>, is_document: bool },
    Log(Box<EventJudge<'s>>),
}

/// What was concluded.
#[derive(Debug)]
pub(super) struct Judged {
    /// What became of the run; none of an event log.
    pub(super) verdict: Option<Verdict>,
    /// Clauses that were broken.
    pub(super) findings: Vec<Finding>,
}

impl<'s> Judging<'s> {
    /// Whatever the contract is about. `asked` says that the contract's form of output was asked for.
    pub(super) fn new(
        facts: &Facts,
        shelf: &'s Shelf,
        profile: Profile,
        asked: bool,
    ) -> Result<Self, FileError> {
        if shelf.chosen().map_or_else(|| facts.contract() == Some(EVENTS_CONTRACT), is_of_events) {
            let missing = || FileError::whole(EVENTS_CONTRACT, "no such contract in this build");
            let set = shelf.events()?.ok_or_else(missing)?;
            return Ok(Self::Log(Box::new(EventJudge::new(set, profile, Limits::default()))));
        }
        let protocol = Protocol::of_recording(facts);
        let protocol = if asked { protocol.fitting(shelf.chosen()) } else { protocol };
        let settings = Settings {
            background_disabled: facts.env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS") == Some("1"),
            ..Settings::default()
        };
        let judge = Judge::new(protocol, settings, shelf, &Run::of(facts))?;
        Ok(Self::Run { judge, is_document: protocol.is_document() })
    }

    /// Whether the output is one document.
    pub(super) fn is_document(&self) -> bool {
        matches!(self, Self::Run { is_document: true, .. })
    }

    /// Reads the next bytes; `watch` sees each line of a stream.
    pub(super) fn push(&mut self, bytes: &[u8], watch: &mut dyn FnMut(&Line<'_>)) {
        match self {
            Self::Run { judge, .. } => judge.push(bytes, watch),
            Self::Log(judge) => judge.push(bytes, &mut ()),
        }
    }

    /// Ends the output and concludes.
    pub(super) fn finish(self, ending: &Ending) -> Result<Judged, FileError> {
        match self {
            Self::Run { judge, .. } => {
                let judgement = judge.finish(ending, &mut |_| {})?;
                Ok(Judged { verdict: Some(judgement.verdict), findings: judgement.findings })
            }
            Self::Log(judge) => Ok(Judged { verdict: None, findings: judge.finish(&mut ()).0 }),
        }
    }
}
