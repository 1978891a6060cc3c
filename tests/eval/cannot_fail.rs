//! Evaluations that could not fail: refused when they are read, or told.

use super::project::{MODEL, Project};

fn spec(case: &str) -> String {
    format!(
        "[eval]\nskill = \"greet\"\n[run]\ntrials = 1\nwithout = false\n{MODEL}\n[[cases]]\nid = \"ann\"\nprompt = \"Say hello\"\n{case}\n"
    )
}

#[test]
fn an_assertion_that_holds_whatever_happens_is_refused_at_its_place() {
    let project = Project::new();
    for assertion in [
        r#"type = "min_length", length = 0"#,
        r#"type = "max_length", length = 99999999999"#,
        r#"type = "regex", pattern = ".*""#,
        r#"type = "regex", pattern = "a|""#,
        r#"type = "regex", pattern = "(?i)(hello)?""#,
        r#"type = "regex", pattern = "(?!error)""#,
        r#"type = "min_count", pattern = "a", count = 0"#,
        r#"type = "min_count", pattern = "a*", count = 1"#,
        r#"type = "max_count", pattern = "a", count = 999999999"#,
        r#"type = "not_regex", pattern = "[^\\s\\S]""#,
        r#"type = "contains", needle = """#,
        r#"type = "has_urls", count = 0"#,
        r#"type = "has_entries", count = 0"#,
        r#"type = "has_format", format = "email", count = 0"#,
        r#"type = "urls_reachable", count = 0"#,
        r#"type = "json", path = "$.a", count = 0"#,
        r#"type = "json", path = "$.a", pattern = ".*""#,
        r#"type = "json_schema", schema = {}"#,
        r#"type = "file", path = "a.txt", pattern = "x*""#,
        r#"type = "file", path = "a.txt", contains = """#,
        r#"type = "tool_used", tool = "Bash", count = 0"#,
        r#"type = "tool_used", tool = "Bash", input_pattern = ".*""#,
        r#"type = "tool_at_most", tool = "Bash", count = 100000"#,
        r#"type = "max_seconds", seconds = 99999999"#,
        r#"type = "max_tokens", count = 1000000000000"#,
        r#"type = "max_cost_usd", usd = 1000000"#,
        r#"type = "not_regex", pattern = "(?!)""#,
        r#"type = "not_regex", pattern = "$x""#,
        r#"type = "tool_not_used", tool = "Bash", input_pattern = "x(?=y)z""#,
        r#"type = "exec", command = "test 1 = 1""#,
        r#"type = "exec", command = "grep -q Ahoy ~/response.txt || true""#,
    ] {
        let line = spec("").lines().count() + 1;
        project.write("e.toml", &spec(&format!("assert = [{{ {assertion} }}]")));
        let said = project.eval(&["e.toml"]);
        assert_eq!(said.code, Some(2), "{assertion}: {}", said.stdout);
        let place = format!("e.toml:{}", line - 1);
        assert!(said.stderr.contains(&place), "{assertion}: {}", said.stderr);
        assert!(
            said.stderr.contains("cannot fail") || said.stderr.contains("which every text contains"),
            "{assertion}: {}",
            said.stderr
        );
        assert!(!project.path().join("clawgate-out").exists(), "nothing was run");
    }
}

#[test]
fn an_assertion_that_may_fail_is_not_refused() {
    let project = Project::new();
    let assertions = [
        r#"type = "min_length", length = 1"#,
        r#"type = "max_length", length = 100000"#,
        r#"type = "regex", pattern = ".+""#,
        r#"type = "regex", pattern = "^(?!.*@#!)""#,
        r#"type = "regex", pattern = "^(?!.*\\d{3}-\\d{4})""#,
        r#"type = "not_regex", pattern = "\\d""#,
        r#"type = "min_count", pattern = "o*", count = 2"#,
        r#"type = "max_count", pattern = "a", count = 10"#,
        r#"type = "tool_at_most", tool = "Bash", count = 3"#,
        r#"type = "max_seconds", seconds = 200"#,
    ];
    let list: Vec<String> = assertions.iter().map(|assertion| format!("{{ {assertion} }}")).collect();
    project.write("e.toml", &spec(&format!("assert = [{}]", list.join(", "))));
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(0), "{}{}", said.stderr, said.stdout);
}

#[test]
fn the_same_holds_for_the_form_of_clauditor() {
    let project = Project::new();
    let text = r#"{"skill_name": "greet", "test_args": "Ann", "assertions": [{"id": "a", "type": "min_length", "length": 0}]}"#;
    project.write("greet.eval.json", text);
    let said = project.eval(&["greet.eval.json"]);
    assert_eq!(said.code, Some(2), "{}", said.stdout);
    assert!(said.stderr.contains("`a` cannot fail: every text has at least 0 characters"), "{}", said.stderr);
}

/// The model says what the file should hold, and writes no file.
#[test]
fn what_was_said_is_not_the_file_that_should_have_been_written() {
    let project = Project::new();
    let case = "output = \"hello.txt\"\nassert = [{ type = \"contains\", needle = \"Ahoy\" }]";
    project.write("e.toml", &spec(case));
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(100), "{}", said.stdout);
    let trial = said.events().into_iter().find(|event| event["case"] == "ann").unwrap();
    assert_eq!(trial["reason"], "hello.txt is written: not written, and it is the output");
    // A text that nothing is asked of may be missing no more.
    let absent = case.replace("contains\"", "not_contains\"");
    project.write("e.toml", &spec(&absent));
    assert_eq!(project.eval(&["e.toml"]).code, Some(100));
    // Whoever asks for it has what was said instead.
    project.write("e.toml", &spec(&format!("output_fallback = true\n{case}")));
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
}

#[test]
fn turns_that_nobody_used_are_told() {
    let project = Project::new();
    let case = "assert = [{ type = \"contains\", needle = \"Ahoy\" }]";
    project.write("says.toml", "[scenario]\nname = \"says\"\n[[api.turns]]\nname = \"idle\"\nwhen = { prompt = \"Nobody\" }\ntext = \"x\"\n");
    let rule = "[[rules]]\ncase = \"ann\"\ntrials = [9]\napi = \"says.toml\"\n";
    project.write("e.toml", &spec(case).replace("[[cases]]", &format!("{rule}[[cases]]")));
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    let expected = "turns of the scripted model that nobody used: turn-2, turn-3, turn-5, idle of says.toml";
    assert!(said.report()["warnings"].to_string().contains(expected), "{:#}", said.report()["warnings"]);
    // The same is known when it is graded again.
    let said = project.run(&["grade", "clawgate-out/eval/greet/iteration-1"]);
    assert!(said.stdout.contains(expected), "{}", said.stdout);
    // Where every turn is used there is nothing to tell.
    let all = "[[api.turns]]\ntool = { name = \"Skill\", input = { skill = \"greet\" } }\n[[api.turns]]\ntext = \"Ahoy!\"\n";
    project.write("e.toml", &spec(case).replace(MODEL, all));
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert!(!said.stdout.contains("nobody used"), "{}", said.stdout);
}

/// The command line's own reminder lists the skill by its description, which is no wish of the user.
#[test]
fn a_condition_on_the_prompt_is_about_what_the_user_said() {
    let project = Project::new();
    let turns = "[[api.turns]]\nwhen = { prompt = \"manner of pirates\" }\ntool = { name = \"Skill\", input = { skill = \"greet\" } }\n\
                 [[api.turns]]\nwhen = { turn = \"any\" }\ntext = \"Ahoy!\"\n";
    let triggers =
        "[triggers]\nshould_not = [\"How is the weather?\"]\nshould = [\"Hello in the manner of pirates\"]\n";
    let text = format!("[eval]\nskill = \"greet\"\n[run]\ntrials = 1\n{turns}{triggers}");
    project.write("e.toml", &text);
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert_eq!(said.report()["triggers"]["recall"]["passed"], 1);
}
