//! Does a final text ask the user something, so that the run stopped for want of an answer?
//!
//! Only the end of the text counts: a question inside a finished report is rhetoric. What stands at the end is looked
//! at as people write it: in bold, in brackets, in quotes, in other scripts, followed by its options or by a request
//! to answer.

use super::offer::{Work, is_closing, is_courtesy};
use super::words::words;

/// The question that the end of this text puts to the user, if it does and is no polite offer after finished work.
pub(super) fn asks_the_user(text: &str, work: Work) -> Option<String> {
    let text = without_trailing_draft(without_trailing_code(text));
    let question = last_question(text, work)?;
    let Some(at) = text.rfind(&question) else { return Some(question) };
    let (before, after) = (&text[..at], &text[at + question.len()..]);
    if !is_courtesy(&question, before, after, work) {
        return Some(question);
    }
    // An offer after a question does not answer it.
    let earlier = trailing_question(before.lines().last()?).filter(|earlier| addressed(earlier))?;
    let at = before.rfind(earlier)?;
    (!is_courtesy(earlier, &before[..at], "", work)).then(|| earlier.to_owned())
}

/// The question or request with which a text ends.
fn last_question(text: &str, work: Work) -> Option<String> {
    let paragraphs = paragraphs(text);
    let (last, before) = paragraphs.split_last()?;
    let previous = before.last().and_then(|paragraph| paragraph.last()).copied();
    if let Some(question) = asking_lines(last, previous, work) {
        return Some(question);
    }
    // Options, or a word about how to answer, may stand apart from their question.
    let question = previous?;
    (last.iter().all(|line| is_option(line)) || last.iter().all(|line| prompts_for_answer(line)))
        .then(|| addressed_question(question))
        .flatten()
}

/// The lines of each paragraph, block quotes left out.
fn paragraphs(text: &str) -> Vec<Vec<&str>> {
    let mut paragraphs = vec![Vec::new()];
    for line in text.lines().map(|line| line.trim_matches(is_invisible)) {
        if line.is_empty() || is_rule(line) {
            paragraphs.push(Vec::new());
        } else if let Some(paragraph) = paragraphs.last_mut() {
            paragraph.push(line);
        }
    }
    paragraphs.retain(|lines| !lines.is_empty());
    paragraphs
}

/// Whether a paragraph ends by asking; `previous` is the line before it.
fn asking_lines(lines: &[&str], previous: Option<&str>, work: Work) -> Option<String> {
    let (last, before) = lines.split_last()?;
    let line_before = before.last().copied().or(previous);
    let is_introduced = line_before.is_some_and(|line| line.ends_with([':', '：']));
    if is_quote_or_heading(last) || (is_introduced && bare(last).starts_with(OPEN_QUOTES)) {
        return None;
    }
    if let Some(question) = trailing_question(last) {
        let is_answerless_list = is_option(last) && !before.is_empty();
        let lead = before.iter().rev().find(|line| !is_option(line)).copied().or(previous);
        if is_option(last) && lead.is_some_and(|lead| LISTED.are_in(lead)) {
            return None;
        }
        let courteous = line_before.is_some() || question.len() < bare(last).len();
        if COURTESY.are_in(question) && courteous {
            return None;
        }
        // The last of several questions in a list, or one question by itself.
        if !is_answerless_list
            || addressed(question)
            || before.iter().any(|line| addressed_question(line).is_some())
        {
            return Some(question.to_owned());
        }
        return None;
    }
    if let Some(question) = question_then_prompt(last) {
        return Some(question);
    }
    let sentence = last_sentence(bare(last));
    let is_request = is_closing(sentence, work).map_or_else(|| REQUEST.are_in(sentence), |closing| !closing);
    if is_request {
        return Some(sentence.to_owned());
    }
    // The question, then its options or a word about how to answer.
    let tail = before.iter().rposition(|line| !is_option(line) && !prompts_for_answer(line))?;
    let followed_by_options =
        lines[tail + 1..].iter().all(|line| is_option(line) || prompts_for_answer(line));
    followed_by_options.then(|| addressed_question(lines[tail])).flatten()
}

/// The question with which a line ends, if it ends with one of its own and not one that it quotes.
fn trailing_question(line: &str) -> Option<&str> {
    let line = bare(line);
    let open = strip_closers(line);
    let is_question = open.ends_with(QUESTION_MARKS) || ends_as_question_word(open);
    if !is_question || is_address(open) {
        return None;
    }
    let sentence = last_sentence(open);
    (!is_quoted(open, &line[open.len()..]) && !is_reported(sentence)).then_some(sentence)
}

/// Whether a question is somebody else's: its quotation marks open within a longer sentence, or on an earlier line.
/// `closers` is what follows the question mark.
fn is_quoted(question: &str, closers: &str) -> bool {
    let Some(close) = closers.chars().find(|c| QUOTES.contains(c)) else { return false };
    let opens = |(at, c): &(usize, char)| {
        let before = question[..*at].chars().next_back();
        OPEN_QUOTES.contains(c) && is_pair(*c, close) && before.is_none_or(|before| !before.is_alphanumeric())
    };
    let Some((open, _)) = question.char_indices().rev().find(opens) else {
        return true;
    };
    let lead = question[..open].trim_end_matches(|c: char| is_invisible(c) || matches!(c, '*' | '_' | '('));
    !lead.is_empty() && !lead.ends_with(['.', '!', ';', '?', '。', '！', '？'])
}

/// Whether two quotation marks may belong together: straight ones are alike, others are not.
fn is_pair(open: char, close: char) -> bool {
    match close {
        '"' | '\'' => open == close,
        _ => open != '"' && open != '\'',
    }
}

/// Whether a sentence only tells what something says: `The button is labelled: Are you sure?`
fn is_reported(sentence: &str) -> bool {
    let is_emphasis = |(at, _): &(usize, &str)| sentence[at + 1..].starts_with(['*', '_']);
    let emphasised = sentence.rmatch_indices(' ').find(is_emphasis).map(|(at, _)| at);
    let leads = [sentence.rfind(": "), emphasised].into_iter().flatten().map(|at| &sentence[..at]);
    leads.into_iter().any(|lead| REPORTS.are_in(lead))
}

/// A question to the user, followed on the same line by a word about how to answer.
fn question_then_prompt(line: &str) -> Option<String> {
    let line = bare(line);
    let mark = line.rfind(QUESTION_MARKS)?;
    let (asked, rest) = line.split_at(mark + line[mark..].chars().next()?.len_utf8());
    let question = last_sentence(asked);
    let is_own = !is_quoted(asked, rest) && !is_reported(question);
    (is_own && addressed(question) && prompts_for_answer(rest)).then(|| question.to_owned())
}

/// The line's question, if it ends with one that is addressed to the user.
fn addressed_question(line: &str) -> Option<String> {
    if is_quote_or_heading(line) {
        return None;
    }
    let line = line.trim_end_matches([':', '：']);
    trailing_question(line).filter(|question| addressed(question)).map(str::to_owned)
}

fn addressed(question: &str) -> bool {
    ADDRESS.are_in(question) || question.chars().any(|c| !c.is_ascii() && c.is_alphabetic())
}

const QUESTION_MARKS: [char; 8] = ['?', '？', '؟', '\u{37e}', '⁇', '‽', '՞', '፧'];
const QUOTES: [char; 12] = ['"', '\'', '”', '’', '»', '«', '“', '」', '』', '›', '„', '‟'];
const OPEN_QUOTES: [char; 10] = ['"', '\'', '“', '‘', '«', '„', '「', '『', '‹', '»'];

words! {
    /// Words before a question that is reported and not asked.
    REPORTS = r"(?i)\b(?:title|heading|label|caption|message|prompt|placeholder|string|output|button|dialog|says?|said|reads?|asks?|asked|prints?|printed|shows?|(?:renamed|changed|set) (?:\w+ ){0,4}to|titled|labell?ed|called)\W*$";
    /// A line that tells what something holds, before a list of it.
    LISTED = r"(?i)\b(?:contains?|includes?|holds|lists?|wrote|written|added|created|updated|generated|drafted|(?:it|file|form|survey|page|faq|quiz|list) (?:now )?has)\b[^:]*:$";
    /// Words by which a question turns to the user.
    ADDRESS = r"(?ix)\b(?: you | your | yours | should\ (?:i|we|it|this|the) | shall\ (?:i|we) | may\ i | can\ i | could\ i | do\ i
        | am\ i | want\ me | like\ me | me\ to | which | prefer | ok(?:ay)?\ to | proceed | go\ ahead | continue\ with | is\ (?:it|that|this)\ (?:ok(?:ay)?|fine|right|correct) )\b";
    /// Closing courtesies that wait for nothing.
    COURTESY = r"(?ix)^\W*(?:(?:is|was)\ there\ )?any(?:thing|\ other)\ (?:else|more)\b | \bany\ (?:other\ |more\ |further\ )?questions\W*$ | ^\W*(?:does|did)\ (?:that|this)\ (?:help|make\ sense)\b | ^\W*make[s]?\ sense\W*$";
    /// Requests for an answer without a question mark; polite offers to go on are not among them.
    REQUEST = r"(?ix)^\W*(?: (?:so\ |then\ |first,?\ )? please\ (?:tell|let\ me\ know|specify|clarify|confirm|provide|choose|pick|select|answer|reply|respond|advise|share|indicate|give)\b
        | (?:tell|let)\ me\ (?:know\ )?(?:which|what|where|how|who|whether|when)\b
        | let\ me\ know\ (?:your\ (?:choice|preference|answer|decision))\b
        | (?:i|we)\ (?:need|require)\ (?:to\ know|more\ information|your|you\ to|some\ (?:more\ )?(?:information|details)|clarification)
        | (?:i'm|i\ am|we\ are)\ (?:waiting|awaiting)\ (?:for\ )?your
        | (?:which|what)\ [^.!?]{0,80}\ (?:do|would|should)\ (?:you|i)\b[^.!?]{0,80}$ )"
        needs ["please", "tell me", "let me", "need", "require", "waiting", "which", "what"];
    /// What people add after a question so that it gets answered.
    PROMPT = r"(?ix)\b(?: let\ me\ know | please | reply | repl(?:y|ies) | answer | respond | confirm | options? | choose | pick | select
        | wait(?:ing)? | y/n | yes/no | yes\ or\ no | thanks? | thank\ you | e\.g | for\ example | default | say | type | once\ you | before\ i )\b";
    /// The mark of a list item.
    ITEM = r"^(?:[-*+•–—◦▪]|\(?(?:\d{1,3}|[A-Za-z])[.):]|\[[ xX]?\]|[①-⑳]|\p{Emoji_Presentation})\s*\S";
}

fn is_option(line: &str) -> bool {
    ITEM.are_in(line)
}

fn prompts_for_answer(text: &str) -> bool {
    let text = bare(text);
    text.chars().count() <= 160 && (text.chars().all(|c| !c.is_alphanumeric()) || PROMPT.are_in(text))
}

fn is_quote_or_heading(line: &str) -> bool {
    line.starts_with('>') || line.starts_with('#') || line.starts_with('|')
}

fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '*' | '_' | '=' | ' '))
}

fn is_invisible(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{1c}'..='\u{1f}')
}

/// A line without list marks and emphasis at its start.
fn bare(line: &str) -> &str {
    let line = line.trim_matches(is_invisible);
    // The pattern starts with the line and ends with the first character after the mark.
    let item = ITEM.find(line).and_then(|mark| Some(mark.len() - mark.chars().next_back()?.len_utf8()));
    line[item.unwrap_or(0)..].trim_start_matches(['*', '_', '~', ' '])
}

/// The text without what may follow a question mark: emphasis, closing brackets and quotes, emoji. A closing back
/// quote is not among them, since what it closes is code.
fn strip_closers(text: &str) -> &str {
    text.trim_end_matches(|c: char| {
        is_invisible(c)
            || QUOTES.contains(&c)
            || matches!(
                c,
                '*' | '_' | '~' | ')' | ']' | '}' | '>' | '）' | '】' | '〉' | '》' | '］' | '!' | '！'
            )
            || is_emoji(c)
    })
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{1F000}'..='\u{1FAFF}' | '\u{2600}'..='\u{27BF}' | '\u{FE00}'..='\u{FE0F}' | '\u{20E3}' | '\u{2190}'..='\u{21FF}')
}

/// Questions of languages that need no question mark.
fn ends_as_question_word(text: &str) -> bool {
    let text = text.trim_end_matches(['。', '．']);
    ["ますか", "ですか", "でしょうか", "ませんか", "吗", "嗎", "습니까", "까요"]
        .iter()
        .any(|end| text.ends_with(end))
}

/// A trailing question mark that belongs to an address or a pattern.
fn is_address(text: &str) -> bool {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    word.contains("://")
        || word.starts_with("www.")
        || (word.starts_with('/') && word.len() > 2)
        || word.contains(['\\', '^', '$', '=', '|', '<', '{'])
        || word.contains(".*")
        || word.contains(")?")
        || word.chars().filter(|c| *c == '`').count() % 2 == 1
}

/// The last sentence of a text.
fn last_sentence(text: &str) -> &str {
    let text = text.trim_matches(is_invisible);
    let end = text.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
    let start = text[..end]
        .char_indices()
        .zip(text[..end].chars().skip(1).map(Some).chain([None]))
        .filter(|((_, c), next)| match c {
            '.' | '!' | '?' | ';' => next.is_some_and(char::is_whitespace),
            '。' | '！' | '？' | '\n' => true,
            _ => false,
        })
        .map(|((at, c), _)| at + c.len_utf8())
        .last()
        .unwrap_or_default();
    text[start..].trim_start_matches(|c: char| is_invisible(c) || matches!(c, '*' | '_'))
}

/// The text before a fenced block at its end, whose contents are an example and not speech.
fn without_trailing_code(text: &str) -> &str {
    let trimmed = text.trim_end_matches(is_invisible);
    if !trimmed.ends_with("```") {
        return trimmed;
    }
    let body = &trimmed[..trimmed.len() - 3];
    body.rfind("```").map_or(trimmed, |open| trimmed[..open].trim_end_matches(is_invisible))
}

/// The text before a draft at its end that stands between two rules, which is what was asked for and no speech.
fn without_trailing_draft(text: &str) -> &str {
    let mut end = 0;
    let rules: Vec<(usize, usize)> = text
        .split_inclusive('\n')
        .filter_map(|line| {
            let start = end;
            end += line.len();
            is_rule(line.trim_matches(is_invisible)).then_some((start, end))
        })
        .collect();
    match rules[..] {
        [.., (open, _), (_, last)] if last == text.len() && !text[..open].trim().is_empty() => &text[..open],
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_recognised_as_people_write_them() {
        for text in [
            "Which file do you want me to edit?",
            "**Which one?**",
            "*Which one?*",
            "\"why?\"",
            "“Why?”",
            "(which one?)",
            "（哪个？）",
            "你想要哪个？",
            "أي ملف تريد؟",
            "どれにしますか。",
            "Which file? 🤔",
            "Which file?\u{200b}",
            "Which file?!",
            "Which file ?",
            "I found two configs.\n\nWhich one should I change?\n\n1. a.toml\n2. b.toml",
            "Which one should I change?\n- a.toml\n- b.toml",
            "Which one do you prefer:\n\n(a) red\n(b) blue\n\nPlease choose one?",
            "Should I delete it? (yes/no)",
            "Should I proceed? Please confirm.",
            "Do you want me to go on?\n\nLet me know!",
            "Should I run this?\n```sh\nrm -rf build\n```",
            "Please tell me which database to use.",
            "Two are possible. Let me know which you prefer.",
            "I need more information: the path of the project.",
            "Before I start:\n1. Which port should it use?\n2. Do you need TLS?",
            "All set up. Would you like me to deploy it?",
            "Is there anything else?",
            "¿Qué archivo quieres?",
            "One question: which port should it use?",
            "Hello! How can I help you today?",
            "Which database do you use? Would you like me to also add tests?",
            "Here is my plan: first the parser, then the tests. Let me know if you'd like me to proceed.",
            "Done. \"Hello! Which one?\"",
            "I read the three files.\n\nWould you like me to fix the bug?",
            "---\nWhich one?\n---",
        ] {
            assert!(asks_the_user(text, Work::Unseen).is_some(), "should ask: {text}");
        }
    }

    #[test]
    fn a_finished_report_asks_nothing() {
        for text in [
            "All done.",
            "",
            "   \n",
            "Why did it fail? Because the cache was stale. It is fixed now.",
            "## What changed?\n- Added a test\n- Fixed the bug",
            "What changed?\n- Added a test\n- Fixed the bug",
            "I renamed the heading to \"Why?\"",
            "I renamed the heading to “What now?”.",
            "> Shall we go?",
            "The user asked: \"Which one?\" and I chose the first.",
            "See https://example.com/search?",
            "The pattern is `colou?r?`",
            "The regex is ^https?",
            "Use /api/items?",
            "The tests pass. Let me know if you have any questions.",
            "The tests pass.\n\nIs there anything else?",
            "The tests pass. Any questions?",
            "### FAQ\n\n**How do I run it?**\n\nWith `make`.",
            "| question | answer |\n| why? | because |",
            "Here is the code:\n```js\nconst x = a ? b : c ?\n```",
            "Which one is faster? I measured: the second by 20 %.",
            "Wrote questions.md:\n- What is love?\n- Who goes there?",
            "It now prints \"Hello! Are you sure?\"",
            "The mail reads:\n\n\"Hi Bob,\ncould you send me the file?\"",
            "The user asked:\n\n\"Which one should I take?\"",
            "The dialog says: Are you sure you want to quit?",
            "I changed the title to: What is it?",
            "The button is labelled *Delete this file?*",
            "Here is the draft.\n\n---\nHi,\nwould you be free on Monday?\n---",
            "I've added the function to `lib.rs`.\n\nWould you like me to write tests for it?",
            "Paris is the capital of France. Would you like to know more?",
            "The survey now contains:\n1. How old are you?\n2. Where do you live?",
            "The tests pass. Please let me know if you need anything else.",
            "I've fixed it. Shall I also update the docs? Let me know!",
        ] {
            assert_eq!(asks_the_user(text, Work::Unseen), None, "should not ask: {text}");
        }
    }
}
