//! Our assertions give the answers that clauditor gives. `tests/data/eval/clauditor-l1.json` holds texts, assertions
//! and what clauditor-eval 0.1.3 answered to each of them on each text.

use clawgate::internals::eval::assertion::TextAssertions;
use clawgate::internals::eval::extraction;
use clawgate::internals::eval::spec::Section;
use serde_json::Value;

const TABLE: &str = include_str!("../data/eval/clauditor-l1.json");

#[test]
fn assertions_about_text_agree_with_clauditor() {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    let assertions = TextAssertions::parse("table.json", &table["assertions"].to_string()).unwrap();
    let (mut compared, mut passed, mut wrong) = (0, 0, Vec::new());
    for (name, text) in table["texts"].as_object().unwrap() {
        let expected = table["passed"][name].as_str().unwrap();
        let found = assertions.check(text.as_str().unwrap());
        assert_eq!(found.len(), expected.len());
        for ((answer, expected), asked) in
            found.iter().zip(expected.chars()).zip(table["assertions"].as_array().unwrap())
        {
            compared += 1;
            passed += usize::from(*answer);
            if *answer != (expected == '1') {
                wrong.push(format!("{asked} on `{name}`: clauditor says {expected}, we say {answer}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    // A table in which everything holds, or nothing, would show nothing.
    assert!(compared > 6000 && passed > 1000 && compared - passed > 1000, "{passed} of {compared}");
}

/// `tests/data/eval/clauditor-l2.json` holds sections, what a model may have extracted for them, and what clauditor-eval
/// 0.1.3 made of it: the name and the answer of each check, or null where it reports that the model failed.
const SECTIONS: &str = include_str!("../data/eval/clauditor-l2.json");

#[test]
fn checks_of_sections_agree_with_clauditor() {
    let table: Value = serde_json::from_str(SECTIONS).unwrap();
    let (mut compared, mut passed, mut failed_models, mut wrong) = (0, 0, 0, Vec::new());
    for (name, sections) in table["specs"].as_object().unwrap() {
        let sections = Section::parse("table.json", &sections.to_string()).unwrap();
        for (answer, expected) in table["results"][name].as_object().unwrap() {
            let found = extraction::check(&sections, &table["answers"][answer]);
            let found: Option<Vec<(String, bool)>> = found.ok();
            let Some(expected) = expected.as_array() else {
                failed_models += 1;
                if found.is_some() {
                    wrong.push(format!("`{answer}` for `{name}`: the model failed, and we believe it"));
                }
                continue;
            };
            let found = found.unwrap_or_default();
            compared += found.len();
            passed += found.iter().filter(|(_, holds)| *holds).count();
            let sign = |holds: bool| if holds { "+" } else { "-" };
            // The grid of formats keeps the signs alone.
            let found: Vec<String> = match expected.first().and_then(Value::as_str) {
                Some(signs) if signs.trim_matches(['+', '-']).is_empty() => {
                    vec![found.iter().map(|(_, holds)| sign(*holds)).collect()]
                }
                _ => found.iter().map(|(name, holds)| format!("{}{name}", sign(*holds))).collect(),
            };
            if found != *expected {
                wrong.push(format!(
                    "`{answer}` for `{name}`:\n  clauditor {expected:?}\n  we        {found:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 3000 && passed > 1000 && compared - passed > 1000, "{passed} of {compared}");
    assert!(failed_models > 10, "{failed_models}");
}
