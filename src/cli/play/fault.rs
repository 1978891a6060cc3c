//! What can go wrong between a command line and the program that reads it.

use std::io::{self, Write};
use std::str::FromStr;

use serde_json::Value;

/// What can go wrong in a playback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlayFault {
    /// A message of a type that nobody knows comes first.
    UnknownMessage,
    /// A line of this many megabytes comes first.
    LongLine(u64),
    /// Every write is of this many bytes.
    Split(u64),
    /// A line that is no message comes after the first one.
    GarbageLine,
    /// The process does not exit.
    HangAfterResult,
    /// It exits so many milliseconds late.
    LateExit(u64),
    /// Standard output is closed after so many bytes, and the process goes on.
    ClosedStdout(u64),
    /// Nothing comes after so many bytes.
    Cut(u64),
    /// Nothing comes after the half of the result.
    CutMessage,
    /// The result comes twice.
    ResultTwice,
    /// The result does not come.
    NoResult,
    /// What the program asked for is answered under another id.
    WrongId,
    /// It is answered with an error.
    ErrorResponse,
    /// It is not answered.
    NoResponse,
    /// The program is asked everything twice, under the same id.
    RequestTwice,
    /// It dies by a signal instead of its exit.
    Crash,
}

impl FromStr for PlayFault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let number = |key: &str, otherwise: u64| match rest {
            "" => Ok(otherwise),
            rest => rest
                .strip_prefix(key)
                .and_then(|rest| rest.strip_prefix('='))
                .and_then(|number| number.parse().ok())
                .ok_or_else(|| format!("expected {name}:{key}=N")),
        };
        Ok(match name {
            "unknown-message" => Self::UnknownMessage,
            "long-line" => Self::LongLine(number("megabytes", 5)?),
            "split" => Self::Split(number("bytes", 1)?.max(1)),
            "garbage-line" => Self::GarbageLine,
            "hang-after-result" => Self::HangAfterResult,
            "late-exit" => Self::LateExit(number("ms", 3000)?),
            "closed-stdout" => Self::ClosedStdout(number("after", 0)?),
            "cut" => Self::Cut(number("after", 0)?),
            "cut-message" => Self::CutMessage,
            "result-twice" => Self::ResultTwice,
            "no-result" => Self::NoResult,
            "wrong-id" => Self::WrongId,
            "error-response" => Self::ErrorResponse,
            "no-response" => Self::NoResponse,
            "request-twice" => Self::RequestTwice,
            "crash" => Self::Crash,
            _ => return Err(format!("unknown fault `{name}`; --help lists the faults")),
        })
    }
}

impl PlayFault {
    /// Whether it is about whole messages, which are held back until they are whole.
    fn is_of_messages(self) -> bool {
        matches!(
            self,
            Self::GarbageLine
                | Self::CutMessage
                | Self::ResultTwice
                | Self::NoResult
                | Self::WrongId
                | Self::ErrorResponse
                | Self::NoResponse
                | Self::RequestTwice
        )
    }
}

/// Passes on what a command line prints, with what goes wrong.
pub(super) struct Spoiler<W> {
    out: W,
    faults: Vec<PlayFault>,
    line: Vec<u8>,
    lines: u64,
    /// How many bytes may still come, where there is a limit.
    left: Option<u64>,
}

impl<W: Write> Spoiler<W> {
    /// Begins with what comes first.
    pub(super) fn new(out: W, faults: &[PlayFault]) -> io::Result<Self> {
        let left = faults.iter().find_map(|fault| match fault {
            PlayFault::Cut(after) | PlayFault::ClosedStdout(after) => Some(*after),
            _ => None,
        });
        let mut spoiler = Self { out, faults: faults.to_vec(), line: Vec::new(), lines: 0, left };
        for fault in faults {
            match fault {
                PlayFault::UnknownMessage => {
                    spoiler.out.write_all(b"{\"type\":\"from_the_future\",\"payload\":{\"a\":[1]}}\n")?;
                }
                PlayFault::LongLine(megabytes) => {
                    spoiler.out.write_all(b"{\"type\":\"system\",\"subtype\":\"noise\",\"text\":\"")?;
                    for _ in 0..*megabytes {
                        spoiler.out.write_all(&vec![b'x'; 1 << 20])?;
                    }
                    spoiler.out.write_all(b"\"}\n")?;
                }
                _ => {}
            }
        }
        Ok(spoiler)
    }

    fn has(&self, fault: PlayFault) -> bool {
        self.faults.contains(&fault)
    }

    /// The next bytes that were printed.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.faults.iter().any(|fault| fault.is_of_messages()) {
            return self.write(bytes);
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.message(&line)?;
            }
        }
        Ok(())
    }

    /// There is no more: what was held back comes as it is.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.line);
        self.write(&rest)
    }

    fn message(&mut self, line: &[u8]) -> io::Result<()> {
        let message: Value = serde_json::from_slice(line).unwrap_or_default();
        self.lines += 1;
        match message["type"].as_str() {
            Some("result") if self.has(PlayFault::NoResult) => return Ok(()),
            Some("result") if self.has(PlayFault::CutMessage) => {
                self.write(&line[..line.len() / 2])?;
                self.left = Some(0);
                return Ok(());
            }
            Some("result") if self.has(PlayFault::ResultTwice) => self.write(&line.repeat(2))?,
            Some("control_request") if self.has(PlayFault::RequestTwice) => self.write(&line.repeat(2))?,
            Some("control_response") => self.response(message, line)?,
            _ => self.write(line)?,
        }
        if self.lines == 1 && self.has(PlayFault::GarbageLine) {
            self.write(b"Loading the model list...\n")?;
        }
        Ok(())
    }

    fn response(&mut self, mut message: Value, line: &[u8]) -> io::Result<()> {
        let id = message["response"]["request_id"].clone();
        if self.has(PlayFault::NoResponse) {
            return Ok(());
        } else if self.has(PlayFault::WrongId) {
            message["response"]["request_id"] = "of-another-request".into();
        } else if self.has(PlayFault::ErrorResponse) {
            message["response"] =
                serde_json::json!({"subtype": "error", "request_id": id, "error": "refused on purpose"});
        } else {
            return self.write(line);
        }
        self.write(format!("{message}\n").as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let most = self.left.map_or(bytes.len(), |left| usize::try_from(left).unwrap_or(usize::MAX));
        let shown = &bytes[..bytes.len().min(most)];
        if let Some(left) = &mut self.left {
            *left -= shown.len() as u64;
        }
        let split = self.faults.iter().find_map(|fault| match fault {
            PlayFault::Split(bytes) => usize::try_from(*bytes).ok(),
            _ => None,
        });
        let is_over = self.left == Some(0);
        for part in shown.chunks(split.unwrap_or(usize::MAX).max(1)) {
            self.out.write_all(part)?;
            self.out.flush()?;
        }
        if is_over && self.faults.iter().any(|fault| matches!(fault, PlayFault::ClosedStdout(_))) {
            let null = std::fs::File::options().write(true).open("/dev/null")?;
            rustix::stdio::dup2_stdout(&null).map_err(io::Error::from)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"r\"}}\n{\"type\":\"control_request\",\"request_id\":\"c\"}\n{\"type\":\"result\"}\n";

    fn spoiled(fault: &str) -> String {
        let mut out = Vec::new();
        let mut spoiler = Spoiler::new(&mut out, &[fault.parse().unwrap()]).unwrap();
        // However it comes in.
        SAID.as_bytes().chunks(7).for_each(|part| spoiler.push(part).unwrap());
        spoiler.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_fault_does_what_it_says() {
        let lines: Vec<&str> = SAID.lines().collect();
        let joined = |lines: &[&str]| lines.join("\n") + "\n";
        assert_eq!(spoiled("result-twice"), joined(&[lines[0], lines[1], lines[2], lines[2]]));
        assert_eq!(spoiled("no-result"), joined(&lines[..2]));
        assert_eq!(spoiled("no-response"), joined(&lines[1..]));
        assert_eq!(spoiled("request-twice"), joined(&[lines[0], lines[1], lines[1], lines[2]]));
        assert_eq!(
            spoiled("garbage-line"),
            joined(&[lines[0], "Loading the model list...", lines[1], lines[2]])
        );
        assert_eq!(spoiled("cut-message"), joined(&lines[..2]) + "{\"type\":\"");
        assert_eq!(spoiled("cut:after=3"), "{\"t");
        assert_eq!(spoiled("split:bytes=2"), SAID);
        assert!(spoiled("wrong-id").contains("\"request_id\":\"of-another-request\""));
        assert!(spoiled("error-response").contains("\"error\":\"refused on purpose\""));
        assert!(spoiled("error-response").contains("\"request_id\":\"r\""));
        assert_eq!(spoiled("late-exit"), SAID);
        assert!("late-exit:after=3".parse::<PlayFault>().is_err());
    }
}
