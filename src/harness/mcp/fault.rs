//! What a server or one of its tools does wrong, by name.

use serde::Serialize;

use super::script::Transport;
use crate::text::nearest;

/// What is wrong with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServerFault {
    Exit,
    Silent,
    InitializeError,
    OtherVersion,
    Garbage,
    NeedsAuth,
    ListError,
    Stays,
    IgnoresTerm,
    LeavesChild,
    ForgetsSession,
}

/// What is wrong with a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ToolFault {
    Dies,
    Hangs,
    Twice,
    WrongId,
    Error,
    Garbage,
    Cut,
    NoContent,
}

impl ServerFault {
    const ALL: [(&str, Self); 11] = [
        ("exit", Self::Exit),
        ("silent", Self::Silent),
        ("initialize-error", Self::InitializeError),
        ("other-version", Self::OtherVersion),
        ("garbage", Self::Garbage),
        ("needs-auth", Self::NeedsAuth),
        ("list-error", Self::ListError),
        ("stays", Self::Stays),
        ("ignores-term", Self::IgnoresTerm),
        ("leaves-child", Self::LeavesChild),
        ("forgets-session", Self::ForgetsSession),
    ];

    pub(super) fn named(name: &str) -> Result<Self, String> {
        find(name, &Self::ALL)
    }

    /// Whether only a process can do it, which a server over HTTP is none of.
    fn is_of_a_process(self) -> bool {
        matches!(self, Self::Garbage | Self::Stays | Self::IgnoresTerm | Self::LeavesChild)
    }

    /// Why a server that is reached in this way cannot do it.
    pub(super) fn fits(self, transport: Transport) -> Result<(), &'static str> {
        match (transport, self) {
            (Transport::Http, fault) if fault.is_of_a_process() => {
                Err("only a server over stdio is a process that can do this")
            }
            (Transport::Stdio, Self::NeedsAuth) => {
                Err("only a server over HTTP can ask for a login: transport = \"http\"")
            }
            (Transport::Stdio, Self::ForgetsSession) => {
                Err("only a server over HTTP has a session to forget: transport = \"http\"")
            }
            _ => Ok(()),
        }
    }

    /// Whether a client can do its work with the server in spite of it.
    pub(super) fn is_harmless(self) -> bool {
        matches!(
            self,
            Self::Garbage | Self::Stays | Self::IgnoresTerm | Self::LeavesChild | Self::ForgetsSession
        )
    }
}

impl ToolFault {
    const ALL: [(&str, Self); 8] = [
        ("dies", Self::Dies),
        ("hangs", Self::Hangs),
        ("twice", Self::Twice),
        ("wrong-id", Self::WrongId),
        ("error", Self::Error),
        ("garbage", Self::Garbage),
        ("cut", Self::Cut),
        ("no-content", Self::NoContent),
    ];

    pub(super) fn named(name: &str) -> Result<Self, String> {
        find(name, &Self::ALL)
    }
}

fn find<T: Copy>(name: &str, known: &[(&'static str, T)]) -> Result<T, String> {
    if let Some((_, fault)) = known.iter().find(|(word, _)| *word == name) {
        return Ok(*fault);
    }
    let names = || known.iter().map(|(word, _)| *word);
    Err(match nearest(name, names()) {
        Some(known) => format!("unknown fault `{name}`, did you mean `{known}`?"),
        None => {
            format!("unknown fault `{name}`, expected one of: {}", names().collect::<Vec<_>>().join(", "))
        }
    })
}

/// The faults as `--help` lists them.
#[cfg(feature = "cli")]
pub(crate) const HELP: &str = "\
Faults of a server (`fault` of [mcp.NAME]; `start_ms` makes it start late):
  exit              ends before it says anything; over HTTP nobody listens
  silent            never answers
  initialize-error  answers the handshake with an error
  other-version     answers it with a version of the protocol that nobody knows
  list-error        answers every list with an error
  needs-auth        401, over HTTP only
  garbage           a line that is no JSON before each answer
  stays             does not end when its input ends, only when it is told to (TERM)
  ignores-term      does not end then either
  leaves-child      leaves a process in a session of its own
  forgets-session   answers the first call with 404, as if the session was over, over HTTP only; a new one works
Faults of a tool (`fault` of [[mcp.NAME.tools]]; `delay_ms` answers late, `text_bytes` makes the result long, `is_error`
marks it as a failure):
  dies              the server ends in the middle of the call
  hangs             the call is never answered
  cut               half of the answer, then the end
  twice             the answer comes twice
  wrong-id          the answer has an id that nobody asked with
  error             a JSON-RPC error
  garbage           a line that is no JSON instead of an answer
  no-content        a result without its content";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_explained_and_a_wrong_name_gets_the_nearest() {
        let names = ServerFault::ALL.map(|(name, _)| name);
        let tools = ToolFault::ALL.map(|(name, _)| name);
        for name in names.iter().chain(&tools) {
            assert!(HELP.contains(&format!("\n  {name} ")), "{name}");
        }
        for (name, fault) in ServerFault::ALL {
            assert_eq!(serde_json::to_value(fault).unwrap(), name);
        }
        for (name, fault) in ToolFault::ALL {
            assert_eq!(serde_json::to_value(fault).unwrap(), name);
        }
        assert_eq!(ToolFault::named("hang").unwrap_err(), "unknown fault `hang`, did you mean `hangs`?");
        assert!(ServerFault::named("x").unwrap_err().contains("expected one of: exit, silent"));
    }
}
