//! Our assertions give the answers that clauditor gives. `tests/data/eval/clauditor-l1.json` holds texts, assertions
//! and what clauditor-eval 0.1.3 answered to each of them on each text.

use clawgate::eval::assertion::TextAssertions;
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
