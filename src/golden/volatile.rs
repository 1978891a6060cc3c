//! Which values and files are left out of a comparison, by the entries of a target's file and of its contract.

use regex::Regex;

pub use crate::document::Class;
use crate::document::{By, VolatileEntry};
use crate::json::pointer;
use crate::text::glob;

/// What differs from run to run.
#[derive(Debug, Clone, Default)]
pub struct Volatile {
    entries: Vec<VolatileEntry>,
}

impl Volatile {
    pub(crate) fn new(entries: Vec<VolatileEntry>) -> Self {
        Self { entries }
    }

    /// With further entries; where two are about the same field, the earlier one counts.
    #[must_use]
    pub(crate) fn and<'e>(&self, entries: impl IntoIterator<Item = &'e VolatileEntry>) -> Self {
        Self { entries: self.entries.iter().cloned().chain(entries.into_iter().cloned()).collect() }
    }

    /// Whether a file is there or not by chance.
    pub(super) fn is_passing(&self, path: &str) -> bool {
        let hits = |pattern: &String| {
            let (mut wanted, mut found) = (pattern.split('/'), path.split('/'));
            loop {
                match (wanted.next(), found.next()) {
                    (None, None) => return true,
                    (Some(wanted), Some(found)) if glob(wanted, found) => {}
                    _ => return false,
                }
            }
        };
        self.by(By::Paths).flat_map(|entry| &entry.places).any(hits)
    }

    /// What a field is: its name, and the keys on the way to it from the message's root.
    pub(super) fn class(&self, path: &[String]) -> Option<&Class> {
        let name = path.last()?;
        let hits = |field: &String| match field.strip_prefix('/') {
            Some(pattern) => pointer::fits(pattern, path.iter().map(String::as_str)),
            None => field == name,
        };
        self.by(By::Fields).find(|entry| entry.places.iter().any(hits)).map(|entry| &entry.class)
    }

    /// Whether any field holds ids.
    pub(super) fn has_ids(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.class, Class::Id(_)))
    }

    /// The names of fields that hold durations.
    pub(super) fn durations(&self) -> Vec<String> {
        let durations = self.by(By::Fields).filter(|entry| entry.class == Class::Milliseconds);
        let fields = durations.flat_map(|entry| &entry.places);
        fields.filter(|field| !field.starts_with('/')).cloned().collect()
    }

    /// What is found inside of texts: the expression whose group is the value, and what that is.
    pub(super) fn patterns(&self) -> Vec<(Regex, Class)> {
        let of_entry = |entry: &VolatileEntry| {
            let class = entry.class.clone();
            // They were compiled once when the file was read.
            let patterns = entry.places.iter().filter_map(|pattern| Regex::new(pattern).ok());
            patterns.map(move |pattern| (pattern, class.clone())).collect::<Vec<_>>()
        };
        self.by(By::Matches).flat_map(of_entry).collect()
    }

    fn by(&self, by: By) -> impl Iterator<Item = &VolatileEntry> {
        self.entries.iter().filter(move |entry| entry.by == by)
    }

    /// With one entry more.
    pub fn add(&mut self, class: Class, places: Vec<String>) {
        let by = if class == Class::File { By::Paths } else { By::Fields };
        self.entries.push(VolatileEntry { class, by, places });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_a_name_or_a_pointer() {
        let mut rules = Volatile::default();
        rules.add(Class::Milliseconds, vec!["duration_ms".into()]);
        rules.add(Class::Id("task".into()), vec!["/tasks/*/id".into()]);
        let class =
            |path: &[&str]| rules.class(&path.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>());
        assert_eq!(class(&["usage", "duration_ms"]), Some(&Class::Milliseconds));
        assert_eq!(class(&["tasks", "0", "id"]), Some(&Class::Id("task".into())));
        assert_eq!(class(&["tasks", "id"]), None);
        assert_eq!(class(&["tasks", "0", "id", "x"]), None);
    }

    #[test]
    fn of_two_entries_for_a_field_the_earlier_counts() {
        let mut own = Volatile::default();
        own.add(Class::Text, vec!["at".into()]);
        let mut contract = Volatile::default();
        contract.add(Class::Time, vec!["at".into(), "end".into()]);
        let both = own.and(&contract.entries);
        assert_eq!(both.class(&["at".to_owned()]), Some(&Class::Text));
        assert_eq!(both.class(&["end".to_owned()]), Some(&Class::Time));
    }

    #[test]
    fn a_file_may_be_there_by_chance() {
        let mut rules = Volatile::default();
        rules.add(Class::File, vec!["tmp/x-*/probe-*-*/y".into()]);
        assert!(rules.is_passing("tmp/x-1000/probe-a-b/y") && rules.is_passing("tmp/x-/probe--/y"));
        for other in ["tmp/x-1000/probe-a/y", "tmp/x-1/z/probe-a-b/y", "tmp/x-1/probe-a-b/y/z", "work/y", ""]
        {
            assert!(!rules.is_passing(other), "{other}");
        }
    }
}
