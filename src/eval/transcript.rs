//! What was said and done in an attempt, for people to read. It is made from the recording, in which secrets are
//! masked, and masks once more what looks like one.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use crate::json::Node;
use crate::outcome::Step;
use crate::stream_json::{Limits, Line, Message, StreamReader};
use crate::text::Masker;
use crate::text::head;

/// A longer transcript is cut; the recording has everything.
const LONGEST: usize = 1 << 20;
/// Of each tool's arguments and answers this much is shown.
const LONGEST_BLOCK: usize = 4 << 10;

/// The transcript of a recording; of another agent than the Claude CLI, `steps` are what it said and did.
pub(super) fn of(recording: &Path, steps: &[Step]) -> io::Result<String> {
    let mut transcript = Transcript { text: String::from("# Transcript\n"), is_cut: false };
    if !steps.is_empty() {
        transcript.steps(steps);
        return Ok(Masker::default().mask(&transcript.text));
    }
    let mut reader = StreamReader::new(Limits::default());
    let mut stdout = match fs::File::open(recording.join("stdout")) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(transcript.text),
        Err(error) => return Err(error),
    };
    let mut chunk = vec![0; 64 << 10];
    loop {
        let length = stdout.read(&mut chunk)?;
        if length == 0 {
            break;
        }
        reader.push(&chunk[..length], &mut |line| transcript.line(line));
    }
    reader.finish(&mut |line| transcript.line(line));
    Ok(Masker::default().mask(&transcript.text))
}

struct Transcript {
    text: String,
    is_cut: bool,
}

impl Transcript {
    fn steps(&mut self, steps: &[Step]) {
        let mut goes_on = false;
        for step in steps {
            if self.is_full() {
                return;
            }
            match step {
                Step::Text { text, is_piece: true } if goes_on => {
                    self.text.truncate(self.text.trim_end_matches('\n').len());
                    _ = writeln!(self.text, "{text}");
                }
                Step::Text { text, .. } => self.add("Agent", text),
                Step::Call { name, input, .. } => {
                    self.add(&format!("Agent calls {name}"), &fenced(&input.to_string()));
                }
                Step::Answer { failed, output, .. } => {
                    self.add(if *failed { "Tool failed" } else { "Tool answers" }, &fenced(output));
                }
            }
            goes_on = matches!(step, Step::Text { is_piece: true, .. });
        }
    }

    /// Whether there is no room for more, which the transcript then says.
    fn is_full(&mut self) -> bool {
        if self.text.len() > LONGEST && !std::mem::replace(&mut self.is_cut, true) {
            self.text.push_str("\n[the rest is in the recording]\n");
        }
        self.is_cut
    }

    fn line(&mut self, line: &Line<'_>) {
        if self.is_full() {
            return;
        }
        let Some(message) = line.message() else { return };
        match message.view() {
            Message::Assistant(assistant) => {
                let who = if assistant.is_subagent() { "Sub-agent" } else { "Agent" };
                let Some(message) = assistant.api_message() else { return };
                for block in message.blocks() {
                    if block.is("text") {
                        self.add(who, &block.text.and_then(Node::text).unwrap_or_default());
                    } else if block.is("tool_use") {
                        let tool = block.name.and_then(Node::text).unwrap_or_default();
                        self.add(&format!("{who} calls {tool}"), &fenced(block.input.map_or("", Node::raw)));
                    }
                }
            }
            Message::User(user) => {
                for block in user.blocks().filter(|block| block.is("tool_result")) {
                    let heading = if block.is_failed() { "Tool failed" } else { "Tool answers" };
                    self.add(heading, &fenced(&block.result_text().unwrap_or_default()));
                }
            }
            Message::Result(result) => {
                let subtype = result.subtype().unwrap_or_default();
                let turns = result.num_turns().unwrap_or_default();
                self.add("Result", &format!("{subtype}, {turns} turns"));
            }
            _ => {}
        }
    }

    fn add(&mut self, heading: &str, text: &str) {
        _ = write!(self.text, "\n## {heading}\n\n{text}\n");
    }
}

fn fenced(text: &str) -> String {
    let shown = head(text, LONGEST_BLOCK);
    let more = if shown.len() < text.len() { "\n…" } else { "" };
    format!("````\n{shown}{more}\n````")
}
