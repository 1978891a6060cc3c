//! The phases of a worker and the transitions between them.

use crate::json::Node;

use super::Profile;
use super::named::named;

named! {
    /// A phase of a worker's life.
    pub enum Phase {
        Plan "PLAN",
        Spawn "SPAWN",
        Deploy "DEPLOY",
        Observe "OBSERVE",
        Recover "RECOVER",
        Harvest "HARVEST",
        Cleanup "CLEANUP",
        Reflect "REFLECT",
        Failed "FAILED",
    }
}

impl Phase {
    /// The phase that a value names.
    pub(crate) fn of(node: Option<Node<'_>>) -> Option<Self> {
        Self::from_name(&node?.text()?)
    }

    /// Whether no phase may follow.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Reflect | Self::Failed)
    }
}

/// The phases that a worker has been in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Visited(u16);

impl Visited {
    pub(crate) fn add(&mut self, phase: Phase) {
        self.0 |= 1 << phase as u16;
    }

    pub(crate) fn has(self, phase: Phase) -> bool {
        self.0 & 1 << phase as u16 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What the documents say about a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Legality {
    /// The table of transitions has it.
    Legal,
    /// The text allows it and the table does not: a warning where the table is taken by its letter.
    Contested,
    /// Neither the table nor the text allows it.
    Illegal,
}

/// Judges a step from one phase to another; `recovering_from` is the phase in which a recovery began.
pub(crate) fn legality(from: Phase, to: Phase, recovering_from: Option<Phase>, profile: Profile) -> Legality {
    use Phase::{Cleanup, Deploy, Failed, Harvest, Observe, Plan, Recover, Reflect, Spawn};
    match (from, to) {
        (Plan, Spawn)
        | (Spawn, Deploy | Recover | Failed)
        | (Deploy, Observe | Recover | Failed)
        | (Observe, Harvest | Recover | Failed)
        | (Recover, Deploy | Observe | Failed)
        | (Harvest, Cleanup | Failed)
        | (Cleanup, Reflect | Failed) => Legality::Legal,
        // "Reachable from any non-terminal state" in the diagram, absent from the table.
        (Plan, Failed) => match profile {
            Profile::Strict => Legality::Contested,
            Profile::Lenient | Profile::Origin => Legality::Legal,
        },
        // An arrow of the diagram, absent from the table.
        (Observe, Spawn) if profile == Profile::Lenient => Legality::Contested,
        // "May exit back to the same phase" in the text; the table leaves SPAWN out.
        (Recover, Spawn) => match (profile, recovering_from) {
            (Profile::Lenient, Some(Spawn)) => Legality::Legal,
            _ => Legality::Illegal,
        },
        _ => Legality::Illegal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contested_transitions_follow_the_profile() {
        let of = |from, to, profile| legality(from, to, Some(Phase::Spawn), profile);
        assert_eq!(of(Phase::Plan, Phase::Failed, Profile::Strict), Legality::Contested);
        assert_eq!(of(Phase::Plan, Phase::Failed, Profile::Origin), Legality::Legal);
        assert_eq!(of(Phase::Observe, Phase::Spawn, Profile::Strict), Legality::Illegal);
        assert_eq!(of(Phase::Observe, Phase::Spawn, Profile::Lenient), Legality::Contested);
        assert_eq!(of(Phase::Recover, Phase::Spawn, Profile::Strict), Legality::Illegal);
        assert_eq!(of(Phase::Recover, Phase::Spawn, Profile::Lenient), Legality::Legal);
        assert_eq!(of(Phase::Observe, Phase::Cleanup, Profile::Lenient), Legality::Illegal);
    }
}
