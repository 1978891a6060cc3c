//! Telling a polite offer after finished work from a question that the agent needs an answer to.

use super::words::words;
use crate::text::tail;

/// What is known of the work besides what the agent says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Files were written, or the tools that write them succeeded.
    Seen,
    /// There is only the agent's word.
    Unseen,
}

impl Work {
    pub(super) fn seen(seen: bool) -> Self {
        if seen { Self::Seen } else { Self::Unseen }
    }
}

words! {
    /// Questions by which one offers to do something.
    OFFER = r"(?ix)^\W*(?:(?:so|then|now|and|also|next|finally|meanwhile|otherwise|if\ (?:not|so|you\ like))\b,?\ ){0,2}
        (?: (?:would|do)\ you\ (?:also\ |perhaps\ |maybe\ )?(?:like|want|need)\b | (?:want|need|like)\ me\ to\b | (?:shall|should|may|can|could)\ i\b
        | (?:would|will)\ (?:it|that)\ (?:help|be\ (?:helpful|useful))\b | interested\ in\b | care\ for\b
        | what\ (?:else\ )?(?:would\ you\ like|do\ you\ want|should\ i|can\ i|shall\ i)\b[^?]{0,40}\b(?:next|else|now|today)\b
        | (?:how|what)\ (?:else\ )?(?:can|may)\ i\ (?:help|do)\b | how\ (?:does|do)\ (?:that|this|it|these|they)\ (?:look|sound)\b
        | (?:does|do)\ (?:that|this|it|these)\ (?:look|sound|work|help|answer)\b | (?:is|are)\ there\ any(?:thing)?\b | any(?:thing)?\ (?:else|other)\b )";
    /// What makes an offer a question: the agent waits for leave, or for a choice.
    WAITS = r"(?ix)\b(?: proceed | go\ (?:ahead|on) | carry\ on | move\ (?:forward|ahead) | continue | start | begin | resume | retry | try\ again | apply | approve | confirm | overwrite | delete | drop | discard | implement | execute
        | allow | grant | permission | rest | remaining | which | either | prefer | first | instead | or(?:\ should|\ would|\ do|\ leave|\ keep|\ is)? )\b
        | \bmake\ (?:these|those|the|this|that)\b";
    /// Offers of more than was asked for.
    BEYOND = r"(?ix)\b(?: also | as\ well | too | else | next | further | more | another | additional(?:ly)? | extra | details? | elaborate | explain | explanation | expand | walk | show | see | example | examples | summar\w+ | breakdown | deeper )\b";
    /// The agent says that work is done.
    DONE = r"(?ix)^\W*(?:done|fixed|finished|completed?|success(?:fully)?)\b | \b(?:i(?:'ve|\ have)|we(?:'ve|\ have)|i)\ (?:just\ |now\ |also\ |already\ |successfully\ )?
        (?:added|updated|fixed|created|written|wrote|implemented|renamed|removed|deleted|refactored|moved|replaced|changed|installed|configured|corrected|cleaned|finished|completed|built|generated|ran|run|set\ up|made|applied|committed|saved|converted|resolved)\b
        | \b(?:has|have)\ been\ (?:\w+ly\ )?\w+(?:ed|ten|ne|lt)\b | \b(?:is|are)\ (?:now\ |all\ )?(?:fixed|done|complete|completed|finished|ready|in\ place|up\ to\ date)\b
        | \b(?:tests?|checks?|builds?|everything)\ (?:\w+\ )?(?:pass(?:es|ed)?|succeeds?|succeeded|works?)\b";
    /// The agent says what keeps it from working.
    STUCK = r"(?ix)\b(?: can't | cannot | can\ not | couldn't | could\ not | unable | (?:i|we)\ (?:would\ |will\ |'ll\ )?need | permission | denied | not\ sure | unsure | unclear | ambiguous | don't\ have | do\ not\ have | before\ (?:i|we)
        | (?:two|three|several|a\ few|some)\ (?:options|ways|approaches|possibilities|candidates|choices) | options?\ (?:are|is|1|a)\b | my\ plan | the\ plan | here's\ (?:my|the|a)\ plan | i\ (?:propose|suggest|recommend|plan|intend|would|will|'ll|'d|can|could) )\b";
    /// Words by which one asks for leave to do what was asked.
    LEAVE = r"(?ix)\b(?: proceed | go\ (?:ahead|on) | continue | i\ should | overwrite | delete | approve
        | me\ to\ (?:start|begin|implement|apply|make\ (?:these|the|this|those)\ changes?) )\b";
    /// Words that press for an answer after a question.
    PRESSES = r"(?i)\b(?:confirm|reply|respond|y/n|yes/no|yes or no|choose|pick|select|options?|waiting)\b";
    /// Closing words that wait for nothing.
    CLOSING = r"(?ix)\b(?: let\ me\ know\ (?:if|in\ case|should\ you|how\ (?:it|that|this|they)\ (?:goes?|works?|looks?|turns?)|what\ you\ think|of\ any) | feel\ free | don't\ hesitate | do\ not\ hesitate | happy\ to\ help | glad\ to\ help | just\ (?:ask|say) | reach\ out )\b"
        needs ["let me know", "feel free", "hesitate", "to help", "just ask", "just say", "reach out"];
}

/// Whether a closing sentence without a question mark is a courtesy; `None` when it is no such sentence.
pub(super) fn is_closing(sentence: &str, work: Work) -> Option<bool> {
    CLOSING.are_in(sentence).then(|| work == Work::Seen || !LEAVE.are_in(sentence))
}

/// Of what stands before an offer this much is looked at for what keeps the agent from working.
const NEAR: usize = 300;

/// Whether a question at the end of a text is a polite offer after finished work. `before` and `after` are what the
/// text says around it.
pub(super) fn is_courtesy(question: &str, before: &str, after: &str, work: Work) -> bool {
    let waits = WAITS.are_in(question) || PRESSES.are_in(after) || STUCK.are_in(tail(before, NEAR));
    if !OFFER.are_in(question) || waits {
        return false;
    }
    work == Work::Seen || DONE.are_in(before) || (stands(before) && BEYOND.are_in(question))
}

/// Whether an answer stands before the offer: something that is stated.
fn stands(before: &str) -> bool {
    let end = before.trim_end_matches(|c: char| {
        c.is_whitespace() || matches!(c, '*' | '_' | ')' | '"' | '`' | '|' | '#' | '-')
    });
    end.chars().any(char::is_alphanumeric) && !end.ends_with(['?', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a text before its last sentence, which is the offer.
    fn courtesy(text: &str, work: Work) -> bool {
        let (before, question) = text.rsplit_once(" | ").unwrap_or(("", text));
        is_courtesy(question, before, "", work)
    }

    #[test]
    fn an_offer_after_finished_work_is_a_courtesy() {
        for text in [
            "I've updated README.md. | Would you like me to also add tests?",
            "All 12 tests pass. | Shall I commit this?",
            "The file has been renamed. | Do you want me to update the changelog?",
            "Done. | Want me to push it?",
            "The capital of France is Paris. | Would you like to know more about it?",
            "42 | Would you like me to explain how I got there?",
            "Fixed the bug in `parse`. | What would you like me to do next?",
        ] {
            assert!(courtesy(text, Work::Unseen), "{text}");
        }
        for text in ["All set up. | Would you like me to deploy it?", "Should I also add a test?"] {
            assert!(courtesy(text, Work::Seen), "{text}");
            assert!(!courtesy(text, Work::Unseen), "{text}");
        }
    }

    #[test]
    fn who_waits_for_leave_or_a_choice_makes_no_offer() {
        for text in [
            "I've created the first file. | Would you like me to proceed with the rest?",
            "I've read the code. My plan is to split it. | Shall I do that?",
            "I found two configs. | Should I change a.toml or b.toml?",
            "This will remove 300 rows. | Do you want me to continue?",
            "I cannot write to that directory. | Should I write it elsewhere?",
            "I've fixed it. | Which branch should I push to?",
            "config.json exists already. | Do you want me to overwrite it?",
            "The bug is on line 3. | Would you like me to fix it?",
        ] {
            assert!(!courtesy(text, Work::Unseen), "{text}");
        }
        assert!(!courtesy("I've made a backup. | Should I delete the old table?", Work::Seen));
        let asked = "I've fixed it. ";
        assert!(!is_courtesy("Should I push it?", asked, " Please confirm.", Work::Seen));
        assert!(is_courtesy("Should I push it?", asked, " Let me know!", Work::Seen));
    }

    #[test]
    fn closing_words_wait_for_nothing_unless_they_ask_for_leave() {
        for (sentence, closing) in [
            ("Let me know if you have any questions.", Some(true)),
            ("Please let me know if you need anything else.", Some(true)),
            ("Feel free to ask.", Some(true)),
            ("Let me know if you'd like me to proceed.", Some(false)),
            ("Please let me know if I should use tabs.", Some(false)),
            ("Let me know which you prefer.", None),
        ] {
            assert_eq!(is_closing(sentence, Work::Unseen), closing, "{sentence}");
        }
        assert_eq!(is_closing("Let me know if I should push it.", Work::Seen), Some(true));
    }
}
