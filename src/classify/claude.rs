//! The verdict on a run of a Claude CLI.

#[cfg(feature = "contracts")]
mod stream;

use super::api_error;
use super::offer::Work;
use super::process::{before_output, ended_without_result};
use super::question::asks_the_user;
use super::slash_command::{self, says_unknown};
use super::{Advisory, Basis, Class, Evidence, Process, Verdict};

#[cfg(feature = "contracts")]
pub(crate) use stream::classify;

/// Decides the verdict on a run in text mode, from its exit code and the text alone.
pub fn classify_text(text: &str, process: &Process<'_>, heuristics: bool) -> Verdict {
    let ended = || ended_without_result(process, || process.failing_provider());
    let by_process = before_output(process).or_else(ended);
    by_process.unwrap_or_else(|| {
        let exit = process.exit_evidence("exit-code");
        let nothing_said = text.trim().is_empty();
        // The CLI itself answers a slash command, unless a model was asked.
        let facts = &process.facts;
        let command = facts.prompt.as_deref().and_then(slash_command::name);
        let is_local = command.is_some() && facts.asked == Some(0);
        if says_unknown(text)
            && text.trim().lines().count() == 1
            && facts.asked.is_none_or(|asked| asked == 0)
        {
            let evidence = Evidence::new("unknown-command", Basis::Keyword, text.trim());
            return Verdict::by(Class::NotFound, None, evidence);
        }
        if process.exit.code == Some(0) {
            let question = asks_the_user(text, Work::seen(process.facts.wrote_files)).filter(|_| heuristics);
            return match question {
                _ if nothing_said && !is_local => Verdict::of(Class::NoOutput, None, vec![exit]),
                Some(question) => {
                    let evidence = Evidence::new("final-question", Basis::Heuristic, question);
                    Verdict::of(Class::Interactive, None, vec![evidence])
                }
                None => {
                    let failure = is_local.then(|| slash_command::failure(None, text)).flatten();
                    let mut verdict = Verdict::by(Class::Ok, None, exit);
                    verdict.advisories.extend(failure.as_ref().map(|_| Advisory::LocalCommandFailed));
                    verdict.evidence.extend(failure);
                    verdict
                }
            };
        }
        if nothing_said && process.says_something() {
            return Verdict::of(Class::Usage, None, vec![process.stderr_evidence("refused-to-start")]);
        }
        let mut verdict = api_error::by_words(text);
        verdict.evidence.push(exit);
        api_error::blame_connection(verdict, text, process.facts.requests)
    })
}
