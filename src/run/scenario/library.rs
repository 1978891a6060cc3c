//! The scenarios that come with clawgate, embedded in the binary.

/// Name and text of each built-in scenario; the name is its path below `scenarios/`.
pub const SCENARIOS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// Those that are nothing but a script of the API, to be served by hand or imported: they stand in no folder.
pub fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
    SCENARIOS.iter().copied().filter(|(name, _)| !name.contains('/'))
}

/// The text of the built-in scenario of that name.
pub fn text(name: &str) -> Option<&'static str> {
    SCENARIOS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::scenario::Scenario;

    #[test]
    fn every_built_in_scenario_is_valid_and_named_after_its_file() {
        for (name, text) in SCENARIOS {
            let scenario =
                Scenario::parse(&format!("{name}.toml"), text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(scenario.name, *name);
            assert!(!scenario.description.is_empty(), "{name} has no description");
        }
    }

    #[test]
    fn the_example_of_the_manual_is_valid() {
        let manual = include_str!("../../../scenarios/README.md");
        let example = manual.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let scenario = Scenario::parse("README.md", example).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.script.turns.len(), 2);
    }
}
