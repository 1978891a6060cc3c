//! Commands of the author: what prepares a trial, and what grades it.

use super::project::Project;

fn spec(case: &str) -> String {
    format!(
        "[eval]\nskill = \"greet\"\n[run]\ntrials = 1\nwithout = false\nrequire_use = false\npermission_mode = \"bypassPermissions\"\n\
         [[api.turns]]\ntool = {{ name = \"Bash\", input = {{ command = \"cat seed.txt > out.txt\" }} }}\n\
         [[api.turns]]\ntext = \"Copied 42.\"\n\
         [[cases]]\nid = \"copy\"\nprompt = \"Copy it\"\n{case}\n"
    )
}

fn reason(said: &super::project::Said) -> String {
    let trial = said.events().into_iter().find(|event| event["case"] == "copy").unwrap();
    trial["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_command_prepares_what_a_trial_begins_with_and_another_grades_what_it_left() {
    let project = Project::new();
    project.write(
        "check.sh",
        "grep -q seeded out.txt && grep -q 42 ~/response.txt && test ! -e check-me && echo fine\n",
    );
    let good = "setup = [\"mkdir -p deep\", \"echo seeded > seed.txt\"]\n\
                assert = [{ type = \"exec\", id = \"same\", command = \"sh check.sh\", files = [\"check.sh\"] },\n\
                          { type = \"exec\", command = 'test -s out.txt && echo \"{\\\"passed\\\": true, \\\"reason\\\": \\\"as wanted\\\"}\"' }]";
    project.write("e.toml", &spec(good));
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(0), "{}{}", reason(&said), said.stderr);
    let trial = said.events().into_iter().find(|event| event["case"] == "copy").unwrap();
    assert_eq!(trial["assertions"][0]["message"], "exit code 0: fine");
    assert_eq!(trial["assertions"][1]["message"], "as wanted");
    // Grading again runs nothing: what was found is kept.
    std::fs::remove_file(project.path().join("check.sh")).unwrap();
    project.write("check.sh", "exit 1\n");
    assert_eq!(project.run(&["grade", "clawgate-out/eval/greet/iteration-1"]).code, Some(0));
}

#[test]
fn a_grader_that_says_no_fails_and_one_that_cannot_say_is_not_measured() {
    let project = Project::new();
    for (grader, code, expected) in [
        ("command = \"echo wrong; exit 1\"", 100, "exit code 1: wrong"),
        ("command = 'echo \"{\\\"passed\\\": false, \\\"reason\\\": \\\"too short\\\"}\"'", 100, "too short"),
        ("command = \"no-such-program\"", 3, "cannot be run"),
        ("command = \"sleep 600; test -s out.txt\", timeout_seconds = 1", 3, "was ended"),
        ("command = \"yes\", timeout_seconds = 20", 3, "was ended"),
        ("command = 'echo \"{\\\"passed\\\": 1}\"'", 3, "neither true nor false"),
    ] {
        let case = format!("setup = \"echo seeded > seed.txt\"\nassert = [{{ type = \"exec\", {grader} }}]");
        project.write("e.toml", &spec(&case));
        let said = project.eval(&["e.toml"]);
        assert_eq!(said.code, Some(code), "{grader}: {}", reason(&said));
        assert!(reason(&said).contains(expected), "{grader}: {}", reason(&said));
    }
}

#[test]
fn a_command_reaches_nothing_outside_of_its_room() {
    let project = Project::new();
    let outside = project.path().join("outside.txt");
    let case = format!(
        "setup = \"echo seeded > seed.txt; echo x > {0} || true\"\nassert = [{{ type = \"exec\", command = \"echo y > {0}; test -s out.txt\" }}]",
        outside.display()
    );
    project.write("e.toml", &spec(&case));
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(0), "{}", reason(&said));
    assert!(!outside.exists());
}

#[test]
fn a_setup_that_fails_leaves_the_case_unmeasured_and_mistakes_are_found_before() {
    let project = Project::new();
    project.write(
        "e.toml",
        &spec("setup = \"echo broken >&2; exit 7\"\nassert = [{ type = \"exec\", command = \"test -s out.txt\" }]"),
    );
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert!(
        reason(&said).contains("setup of case `copy`") && reason(&said).contains("broken"),
        "{}",
        reason(&said)
    );
    for (case, expected) in [
        ("assert = [{ type = \"exec\", command = \" \" }]", "expected a command"),
        ("assert = [{ type = \"exec\", command = \"x\", files = [\"none.sh\"] }]", "does not exist"),
        ("assert = [{ type = \"exec\", command = \"x\", files = [\"../up.sh\"] }]", "beside the evaluation"),
        ("assert = [{ type = \"exec\", command = \"x\", timeout_seconds = 0 }]", "1 to 3600"),
        ("assert = [{ type = \"exec\", comand = \"x\" }]", "command"),
        ("setup = [\"\"]\nassert = [{ type = \"exec\", command = \"x\" }]", "expected a text"),
    ] {
        project.write("e.toml", &spec(case));
        let said = project.eval(&["e.toml"]);
        assert_eq!(said.code, Some(2), "{case}");
        assert!(said.stderr.contains(expected), "{case}: {}", said.stderr);
    }
}
