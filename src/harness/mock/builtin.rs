//! The scenarios that come with clawgate, embedded in the binary.

macro_rules! scenarios {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../scenarios/", $name, ".toml")))),*]
    };
}

/// Name and text of each built-in scenario.
pub const SCENARIOS: &[(&str, &str)] = scenarios!["plain", "tool-use", "sub-agent", "retry", "faults"];

/// The text of the built-in scenario of that name.
pub fn text(name: &str) -> Option<&'static str> {
    SCENARIOS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::mock::script::Scenario;

    #[test]
    fn every_built_in_scenario_is_valid_and_named_after_its_file() {
        for (name, text) in SCENARIOS {
            let scenario = Scenario::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
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

    #[test]
    fn every_scenario_file_is_embedded() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        let mut embedded: Vec<String> = SCENARIOS.iter().map(|(name, _)| (*name).to_owned()).collect();
        files.sort();
        embedded.sort();
        assert_eq!(files, embedded);
    }
}
