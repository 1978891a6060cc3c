//! Topics: who a record is about and what it tells.

use crate::text::nearest_within;

use super::named::named;

/// What a topic says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic<'t> {
    /// `worker.<peer>.<fact>`: a worker speaks of itself.
    Worker { peer: &'t str, fact: Option<Fact>, rest: &'t str },
    /// `cmd.<peer>.<verb>`: a command to one worker.
    Command { peer: &'t str, verb: Option<Verb>, rest: &'t str },
    /// `cmd.role.<role>`: a broadcast to all peers of a role.
    Role { role: &'t str },
    /// `task.<id>.…`: news of a task.
    Task { id: &'t str, rest: &'t str },
    /// `system.…`: the server speaks.
    System { event: Option<System>, rest: &'t str },
    /// Another namespace, which the document allows.
    Other { namespace: &'t str },
}

named! {
    /// The facts that a worker publishes about itself.
    pub(crate) enum Fact {
        Boot "boot",
        Phase "phase",
        Event "event",
        Heartbeat "heartbeat",
        Complete "complete",
    }
}

named! {
    /// The commands of the document's table, and `unblock`, which only its prose knows.
    pub(crate) enum Verb {
        Approve "approve",
        Reject "reject",
        Abort "abort",
        Pause "pause",
        Resume "resume",
        SetPhase "set_phase",
        Spawn "spawn",
        InjectText "inject_text",
        Unblock "unblock",
    }
}

named! {
    /// The events that the server publishes.
    pub(crate) enum System {
        Joined "peer.joined",
        Left "peer.left",
        Stale "peer.stale",
        Gate "gate.fired",
        Budget "budget.warning",
        Malformed "malformed.received",
    }
}

pub(crate) const NAMESPACES: [&str; 4] = ["worker", "cmd", "task", "system"];

impl<'t> Topic<'t> {
    /// Takes a topic apart.
    pub(crate) fn parse(topic: &'t str) -> Self {
        let (namespace, rest) = split(topic);
        let (second, last) = split(rest);
        match namespace {
            "worker" => Self::Worker { peer: second, fact: Fact::from_name(last), rest: last },
            "cmd" if second == "role" => Self::Role { role: last },
            "cmd" => Self::Command { peer: second, verb: Verb::from_name(last), rest: last },
            "task" => Self::Task { id: second, rest: last },
            "system" => Self::System { event: System::from_name(rest), rest },
            _ => Self::Other { namespace },
        }
    }

    /// The namespace and the name that the schema of the topic is made of, for a topic that the document knows.
    fn schema_parts(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Worker { fact, .. } => Some(("worker", fact?.name())),
            Self::Command { verb: Some(Verb::Unblock), .. } => None,
            Self::Command { verb, .. } => Some(("cmd", verb?.name())),
            Self::System { event, .. } => Some(("system", event?.name())),
            _ => None,
        }
    }

    /// The schema name that goes with the topic, without its version: `cmd-set-phase` for `cmd.<peer>.set_phase`.
    pub(crate) fn schema(self) -> Option<String> {
        self.schema_parts().map(|(namespace, name)| format!("{namespace}-{}", name.replace(['_', '.'], "-")))
    }

    /// What follows the topic's schema name in a given one, usually `-v1`; made for every record, so without a copy.
    pub(crate) fn after_schema(self, given: &str) -> Option<&str> {
        let (namespace, name) = self.schema_parts()?;
        let (start, rest) = given.strip_prefix(namespace)?.strip_prefix('-')?.split_at_checked(name.len())?;
        let dashed = name.bytes().map(|byte| if matches!(byte, b'_' | b'.') { b'-' } else { byte });
        start.bytes().eq(dashed).then_some(rest)
    }
}

/// Whether a schema name is that of a topic that the document knows, in its first version.
pub(crate) fn is_schema(name: &str) -> bool {
    let of = |namespace: &str, names: &[&str]| {
        let rest = name.strip_prefix(namespace).and_then(|rest| rest.strip_suffix("-v1"));
        rest.is_some_and(|rest| names.iter().any(|known| known.replace(['_', '.'], "-") == rest))
    };
    of("worker-", Fact::NAMES) || of("cmd-", Verb::NAMES) || of("system-", System::NAMES)
}

fn split(text: &str) -> (&str, &str) {
    match memchr::memchr(b'.', text.as_bytes()) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    }
}

/// Whether a topic that is not well spelt is so only in the words after a namespace that the document does not know, and
/// has no empty words and no wildcards.
pub(crate) fn is_of_other_namespace(topic: &str) -> bool {
    let mut words = topic.split('.');
    let is_other = words.next().is_some_and(|word| is_well_spelt(word) && !NAMESPACES.contains(&word));
    is_other && words.all(|word| !word.is_empty() && !word.contains(['*', '+', '#']))
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
pub(crate) fn near_miss<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    // Short words are near to everything, and long ones to nothing.
    if !(4..=32).contains(&word.len()) || !word.is_ascii() {
        return None;
    }
    nearest_within(2, word, known.iter().copied())
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
    fn the_schema_of_a_topic_follows_from_its_name() {
        for (topic, schema) in [
            ("worker.p.boot", Some("worker-boot")),
            ("cmd.p.set_phase", Some("cmd-set-phase")),
            ("cmd.p.unblock", None),
            ("system.peer.left", Some("system-peer-left")),
            ("task.t.done", None),
        ] {
            let topic = Topic::parse(topic);
            assert_eq!(topic.schema().as_deref(), schema);
            assert_eq!(schema.and_then(|schema| topic.after_schema(schema)), schema.map(|_| ""));
        }
        assert_eq!(Topic::parse("cmd.p.set_phase").after_schema("cmd-set-phase-v2"), Some("-v2"));
        assert_eq!(Topic::parse("cmd.p.set_phase").after_schema("cmd-spawn-v1"), None);
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
    fn names_of_users_stand_in_topics_of_other_namespaces() {
        assert!(is_of_other_namespace("wave.W1.lead.boot"));
        assert!(is_of_other_namespace("wave.First Wave.complete"));
        for bad in ["worker.p.Event", "Worker.p.event", "wave..complete", "wave.*.complete", "", "."] {
            assert!(!is_of_other_namespace(bad), "{bad}");
        }
    }

    #[test]
    fn only_slips_are_near() {
        assert_eq!(near_miss("workers", &NAMESPACES), Some("worker"));
        assert_eq!(near_miss("buoy", &NAMESPACES), None);
        assert_eq!(near_miss("weather", Fact::NAMES), None);
        assert_eq!(near_miss("heartbeats", Fact::NAMES), Some("heartbeat"));
        assert_eq!(near_miss(&"x".repeat(5000), &NAMESPACES), None);
    }
}
