//! Topics: who a record is about and what it tells.

use crate::text::nearest_within;

/// What a topic says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic<'t> {
    /// `worker.<peer>.<fact>`
    Worker { peer: &'t str, fact: Option<Fact>, rest: &'t str },
    /// `cmd.<peer>.<verb>`
    Command { peer: &'t str, verb: Option<Verb>, rest: &'t str },
    /// `cmd.role.<role>`
    Role { role: &'t str },
    /// `task.<id>.…`
    Task { id: &'t str, rest: &'t str },
    /// `system.…`
    System { event: Option<System>, rest: &'t str },
    /// Another namespace, which the document allows.
    Other { namespace: &'t str },
}

/// The facts that a worker publishes about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    Boot,
    Phase,
    Event,
    Heartbeat,
    Complete,
}

/// The commands of the document's table, and the one that only its prose knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Approve,
    Reject,
    Abort,
    Pause,
    Resume,
    SetPhase,
    Spawn,
    InjectText,
    Unblock,
}

/// The events that the server publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    Joined,
    Left,
    Stale,
    Gate,
    Budget,
    Malformed,
}

pub(crate) const FACTS: [(&str, Fact); 5] = [
    ("boot", Fact::Boot),
    ("phase", Fact::Phase),
    ("event", Fact::Event),
    ("heartbeat", Fact::Heartbeat),
    ("complete", Fact::Complete),
];

pub(crate) const VERBS: [(&str, Verb); 9] = [
    ("approve", Verb::Approve),
    ("reject", Verb::Reject),
    ("abort", Verb::Abort),
    ("pause", Verb::Pause),
    ("resume", Verb::Resume),
    ("set_phase", Verb::SetPhase),
    ("spawn", Verb::Spawn),
    ("inject_text", Verb::InjectText),
    ("unblock", Verb::Unblock),
];

pub(crate) const SYSTEM: [(&str, System); 6] = [
    ("peer.joined", System::Joined),
    ("peer.left", System::Left),
    ("peer.stale", System::Stale),
    ("gate.fired", System::Gate),
    ("budget.warning", System::Budget),
    ("malformed.received", System::Malformed),
];

pub(crate) const NAMESPACES: [&str; 4] = ["worker", "cmd", "task", "system"];

impl<'t> Topic<'t> {
    /// Takes a topic apart.
    pub(crate) fn parse(topic: &'t str) -> Self {
        let (namespace, rest) = split(topic);
        let (second, last) = split(rest);
        match namespace {
            "worker" => Self::Worker { peer: second, fact: find(&FACTS, last), rest: last },
            "cmd" if second == "role" => Self::Role { role: last },
            "cmd" => Self::Command { peer: second, verb: find(&VERBS, last), rest: last },
            "task" => Self::Task { id: second, rest: last },
            "system" => Self::System { event: find(&SYSTEM, rest), rest },
            _ => Self::Other { namespace },
        }
    }

    /// The schema name that goes with the topic, without its version.
    pub(crate) fn schema(self) -> Option<&'static str> {
        Some(match self {
            Self::Worker { fact: Some(fact), .. } => match fact {
                Fact::Boot => "worker-boot",
                Fact::Phase => "worker-phase",
                Fact::Event => "worker-event",
                Fact::Heartbeat => "worker-heartbeat",
                Fact::Complete => "worker-complete",
            },
            Self::Command { verb: Some(verb), .. } => match verb {
                Verb::Approve => "cmd-approve",
                Verb::Reject => "cmd-reject",
                Verb::Abort => "cmd-abort",
                Verb::Pause => "cmd-pause",
                Verb::Resume => "cmd-resume",
                Verb::SetPhase => "cmd-set-phase",
                Verb::Spawn => "cmd-spawn",
                Verb::InjectText => "cmd-inject-text",
                Verb::Unblock => return None,
            },
            Self::System { event: Some(event), .. } => match event {
                System::Joined => "system-peer-joined",
                System::Left => "system-peer-left",
                System::Stale => "system-peer-stale",
                System::Gate => "system-gate-fired",
                System::Budget => "system-budget-warning",
                System::Malformed => "system-malformed-received",
            },
            _ => return None,
        })
    }
}

fn split(text: &str) -> (&str, &str) {
    match memchr::memchr(b'.', text.as_bytes()) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    }
}

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// Whether a topic is dot-separated, lower-case words.
pub(crate) fn is_well_spelt(topic: &str) -> bool {
    let mut after_dot = true;
    for byte in topic.bytes() {
        match byte {
            b'.' if after_dot => return false,
            b'.' => after_dot = true,
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => after_dot = false,
            _ => return false,
        }
    }
    !after_dot
}

/// The known word that an unknown one nearly spells: a slip of the fingers rather than a new word.
pub(crate) fn near_miss<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // Short words are near to everything, and long ones to nothing.
    if !(4..=32).contains(&word.len()) || !word.is_ascii() {
        return None;
    }
    nearest_within(2, word, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_taken_apart() {
        let boot = Topic::parse("worker.p_1.boot");
        assert_eq!(boot, Topic::Worker { peer: "p_1", fact: Some(Fact::Boot), rest: "boot" });
        assert_eq!(Topic::parse("cmd.role.worker"), Topic::Role { role: "worker" });
        assert_eq!(
            Topic::parse("system.peer.left"),
            Topic::System { event: Some(System::Left), rest: "peer.left" }
        );
        assert_eq!(Topic::parse("buoy.b1.ping"), Topic::Other { namespace: "buoy" });
        assert_eq!(Topic::parse("worker"), Topic::Worker { peer: "", fact: None, rest: "" });
    }

    #[test]
    fn spelling_is_the_documents() {
        for good in ["worker.p_000002.event", "a", "a-b.c_d.0"] {
            assert!(is_well_spelt(good), "{good}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", "worker.p.Event", "worker.*.boot", "wörker.p"] {
            assert!(!is_well_spelt(bad), "{bad}");
        }
    }

    #[test]
    fn only_slips_are_near() {
        assert_eq!(near_miss("workers", NAMESPACES), Some("worker"));
        assert_eq!(near_miss("buoy", NAMESPACES), None);
        assert_eq!(near_miss("weather", FACTS.map(|(name, _)| name)), None);
        assert_eq!(near_miss("heartbeats", FACTS.map(|(name, _)| name)), Some("heartbeat"));
        assert_eq!(near_miss(&"x".repeat(5000), NAMESPACES), None);
    }
}
