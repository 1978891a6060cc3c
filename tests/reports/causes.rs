//! Many failures on a terminal: one cause is told once, nothing is cut that nobody's screen is too narrow for.

use tempfile::TempDir;

use crate::support::process;

/// What is told of a run that ends with this code.
fn told(args: &[&str], columns: Option<&str>, code: i32) -> String {
    let folder = TempDir::new().unwrap();
    let mut command = process(folder.path());
    command.args(["run", "--jobs", "1"]).args(args);
    if let Some(columns) = columns {
        command.env("COLUMNS", columns);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn one_cause_is_told_once_then_its_cases_are_named() {
    let text = told(&["--target", "reference+no-result", "claude/answers/stream", "claude/http"], None, 100);
    let end = text.split_once("\n\n").unwrap().1;
    assert!(end.contains("cases: result-present\nFAIL claude/"), "{end}");
    assert_eq!(end.matches("explain claude-stream-json/result-present").count(), 1, "{end}");
    // Each case is named, in a heading or below one.
    let rows = text.lines().filter(|line| line.starts_with(" FAIL "));
    for case in rows.map(|row| row.split_whitespace().nth(3).unwrap()) {
        let name = format!("{case} on reference+no-result");
        assert!(end.lines().any(|line| line.contains(&name)), "{case} is not in: {end}");
    }
}

#[test]
fn lines_are_whole_in_a_pipe_and_as_wide_as_columns_says() {
    let args = ["--target", "reference+no-result", "claude/answers/stream"];
    let whole = told(&args, None, 100);
    let row =
        |text: &str| text.lines().find(|line| line.contains("verdict: expected ok")).unwrap().to_owned();
    assert!(row(&whole).ends_with(')') && !whole.contains('…'), "{whole}");
    let narrow = row(&told(&args, Some("60"), 100));
    assert!(narrow.ends_with('…') && narrow.chars().count() == 60, "{narrow}");
}

#[test]
fn a_case_that_ends_as_expected_and_fails_says_for_what() {
    let text = told(&["--target", "reference+same-uuid", "claude/answers/stream"], None, 100);
    let row = text.lines().find(|line| line.starts_with(" FAIL ")).unwrap();
    assert!(row.ends_with("reference+same-uuid · unique-uuids"), "{row}");
}

#[test]
fn what_was_not_run_is_one_line() {
    let text = told(&["--target", "reference+no-result", "--fail-fast", "claude/answers"], None, 100);
    assert!(text.contains("\n2 cases not run after a failure (--fail-fast)\n"), "{text}");
    assert!(!text.contains(" skip "), "{text}");
}
