//! Harm: changes to a run that was recorded with what was served, each of which a reader would believe.
//!
//! The shapes stay as they are; what is said is no longer true. Whatever is printed is changed, one thing at a time,
//! except what nobody but the program can know (`places`): texts, numbers, names, ids and flags (`values`), whole
//! messages and values that stand in several places (`story`), and what the program sent to the API (`requests`).

mod places;
mod printed;
mod requests;
mod story;
mod texts;
mod values;

use std::collections::BTreeMap;

use super::super::fixture::Sample;
use super::Dice;
use printed::Printed;

/// A run that was changed, and what was done to it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Harm {
    /// What was changed, without numbers and ids: a name for all changes of the kind.
    pub place: String,
    /// What was done to it.
    pub what: String,
    /// Whether it is a request that was changed, not what was printed.
    pub in_request: bool,
    /// The changed run.
    pub sample: Sample,
}

impl Harm {
    /// All changes to a run; none where it is not known what was served.
    pub fn all(base: &Sample) -> Vec<Self> {
        if !base.recorded.contains_key("served") {
            return Vec::new();
        }
        let mut harms = match Printed::read(&base.stdout) {
            Some(printed) => {
                let mut harms = values::harms(base, &printed);
                harms.extend(story::harms(base, &printed));
                harms
            }
            None => texts::of_output(base),
        };
        harms.extend(requests::harms(base));
        harms
    }

    /// One change to each place of a run, which one is up to the dice.
    pub(super) fn some(base: &Sample, dice: &mut Dice) -> Vec<Self> {
        let mut by_place: BTreeMap<String, Vec<Self>> = BTreeMap::new();
        for harm in Self::all(base) {
            by_place.entry(harm.place.clone()).or_default().push(harm);
        }
        by_place.into_values().map(|mut harms| harms.swap_remove(dice.below(harms.len()))).collect()
    }

    fn printed(place: impl Into<String>, what: impl Into<String>, sample: Sample) -> Self {
        Self { place: place.into(), what: what.into(), in_request: false, sample }
    }
}
