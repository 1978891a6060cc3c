//! The schemas that are published for what clawgate prints.

use std::fs;

use jsonschema::Validator;
use serde_json::Value;

/// The schema in `schemas/clawgate/NAME.schema.json`.
pub(crate) fn schema(name: &str) -> Validator {
    let path = format!("{}/schemas/clawgate/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    jsonschema::draft202012::new(&serde_json::from_slice(&fs::read(path).unwrap()).unwrap()).unwrap()
}

/// Fails unless each line has the form that the schema of that name publishes.
pub(crate) fn assert_fit(lines: &[Value], name: &str) {
    let schema = schema(name);
    for line in lines {
        let errors = schema.iter_errors(line).map(|error| format!("{error} at {}", error.instance_path()));
        let errors: Vec<_> = errors.collect();
        assert!(errors.is_empty(), "{errors:#?} in {line:#}");
    }
}
