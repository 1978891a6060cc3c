//! Files and outputs that nobody would write on purpose: a clear answer to each, no hang, nothing from outside.

use serde_json::{Value, json};

use super::project::Project;

const HEAD: &str = "[eval]\nskill = \"greet\"\n";

#[test]
fn what_cannot_be_meant_is_refused_with_its_place() {
    let project = Project::new();
    let case = |assert: &str| format!("{HEAD}[[cases]]\nprompt = \"x\"\nassert = [{{ {assert} }}]\n");
    for (text, expected) in [
        (format!("{HEAD}[run]\ntrials = 0\n"), "e.toml:4:10: expected a number from 1"),
        (format!("{HEAD}[run]\ntrials = -1\n"), "expected a whole number, zero or more"),
        (format!("{HEAD}[run]\nmax_cost_usd = -1\n"), "e.toml:4:16: expected a number above 0"),
        (format!("{HEAD}[run]\nmax_turns = 0\n"), "expected a number from 1"),
        (format!("{HEAD}[run]\ntimeout_seconds = 0\n"), "expected a number from 1"),
        (format!("{HEAD}[thresholds]\nmin_delta = nan\n"), "expected a number"),
        (format!("{HEAD}[thresholds]\nmin_recall = 1.5\n"), "expected a number from 0 to 1"),
        (format!("{HEAD}[triggers]\nshould = []\n"), "needs at least one of [[cases]] and [triggers]"),
        (format!("{HEAD}[triggers]\nshould = [\" \"]\n"), "expected a text, found none"),
        (format!("{HEAD}[[cases]]\nprompt = \"\"\nexpectations = [\"x\"]\n"), "e.toml:4:10: expected a text"),
        (format!("{HEAD}[[cases]]\nprompt = \"x\"\nexpectations = [\"\"]\n"), "expected a text, found none"),
        (case("type = \"contains\", needle = \"\""), "which every text contains"),
        (case("type = \"no_file\", path = \"/etc/passwd\""), "below the working directory"),
        (case("type = \"file\", path = \"../x\""), "below the working directory"),
        (case("type = \"contains\", needle = \"x\", in = \"a/../../b\""), "below the working directory"),
        (case("type = \"regex\", pattern = '(a{1000}){1000}'"), "not a regular expression"),
        (case("type = \"json_schema\", schema = { type = 5 }"), "not a JSON Schema"),
        (
            case("type = \"json_schema\", schema = { \"$ref\" = \"http://evil.invalid/\" }"),
            "not a JSON Schema",
        ),
        (
            format!(
                "{HEAD}[[cases]]\nprompt = \"x\"\nexpectations = [\"y\"]\nfiles = {{ \"../up\" = \"z\" }}\n"
            ),
            "`../up`: expected a path below the working directory",
        ),
    ] {
        project.write("e.toml", &text);
        let said = project.eval(&["e.toml"]);
        assert_eq!(said.code, Some(2), "{text}\n{}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains(expected), "{text}\n{}", said.stderr);
    }
    project.write("in.txt", "x");
    let clauditor = r#"{"skill_name": "greet", "input_files": ["in.txt"], "output_files": ["out/in.txt"],
                        "assertions": [{"id": "a", "type": "has_urls"}]}"#;
    project.write("greet.eval.json", clauditor);
    let said = project.eval(&["greet.eval.json"]);
    assert!(
        said.code == Some(2) && said.stderr.contains("`in.txt` is one of the `input_files`"),
        "{}",
        said.stderr
    );
    for budget in ["-1", "nan", "0", "much"] {
        let said = project.eval(&["e.toml", &format!("--max-total-cost-usd={budget}")]);
        assert!(
            said.code == Some(2) && said.stderr.contains("expected dollars"),
            "{budget}: {}",
            said.stderr
        );
    }
}

#[test]
fn a_pattern_that_would_take_for_ever_is_not_measured() {
    let project = Project::new();
    let spec = format!(
        "{HEAD}[run]\ntrials = 1\nwithout = false\nrequire_use = false\n[[cases]]\nprompt = \"x\"\n\
         assert = [{{ id = \"slow\", type = \"not_regex\", pattern = '(?=(a+))(a|aa)+\\1c' }}]\n\
         [[api.turns]]\ntext = \"{}\"\n",
        "a".repeat(200)
    );
    project.write("e.toml", &spec);
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    let reason = trial(&said.events())["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.contains("the pattern takes too long on this text"), "{reason}");
}

fn trial(events: &[Value]) -> Value {
    let is_it = |event: &&Value| event["type"] == "trial-finished" && event["arm"] == "with_skill";
    events.iter().find(is_it).cloned().unwrap_or_default()
}

/// An agent may make links and pipes; what they lead to is not what it wrote.
#[test]
fn links_and_pipes_are_not_taken_for_outputs() {
    let project = Project::new();
    project.write("secret.txt", "root of all");
    let secret = project.path().join("secret.txt");
    let command = format!(
        "ln -s {} link.txt; ln -s nowhere dangling; mkfifo pipe; printf '\\377\\376 bytes' > odd.txt; printf real > real.txt",
        secret.display()
    );
    let spec = format!(
        "{HEAD}[run]\ntrials = 1\nwithout = false\nrequire_use = false\npermission_mode = \"bypassPermissions\"\n\
         [[cases]]\nprompt = \"x\"\nassert = [\n\
         {{ id = \"link\", type = \"file\", path = \"link.txt\" }},\n\
         {{ id = \"pipe\", type = \"no_file\", path = \"pipe\" }},\n\
         {{ id = \"odd\", type = \"file\", path = \"odd.txt\", contains = \"bytes\" }},\n\
         {{ id = \"real\", type = \"file\", path = \"real.txt\", contains = \"real\" }},\n\
         {{ id = \"json\", type = \"json\", path = \"/a\", in = \"odd.txt\" }} ]\n\
         [[api.turns]]\ntool = {{ name = \"Bash\", input = {{ command = {} }} }}\n[[api.turns]]\ntext = \"Done.\"\n",
        json!(command)
    );
    project.write("e.toml", &spec);
    let said = project.eval(&["e.toml"]);
    let trial = trial(&said.events());
    let status = |id: &str| {
        let all = trial["assertions"].as_array().cloned().unwrap_or_default();
        all.iter().find(|checked| checked["id"] == id).map(|checked| checked["status"].clone())
    };
    assert_eq!(
        (said.code, &trial["verdict"]["class"]),
        (Some(100), &json!("ok")),
        "{trial:#}\n{}",
        said.stderr
    );
    let expected = [("link", "fail"), ("pipe", "pass"), ("odd", "pass"), ("real", "pass"), ("json", "fail")];
    for (id, expected) in expected {
        assert_eq!(status(id), Some(json!(expected)), "{id}: {trial:#}");
    }
    let outputs = project.path().join("clawgate-out/eval/greet/iteration-1/eval-1/with_skill/run-1/outputs");
    assert!(outputs.join("real.txt").is_file() && !outputs.join("link.txt").exists());
}

#[test]
fn a_skill_file_of_any_shape_is_answered() {
    let project = Project::new();
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nname: greet\ndescription: [*c, *c]";
    for (name, bytes, rule) in [
        ("bom", b"\xef\xbb\xbf---\nname: bom\ndescription: x\n---\nDo.\n".to_vec(), None),
        ("crlf", b"---\r\nname: crlf\r\ndescription: x\r\n---\r\nDo.\r\n".to_vec(), None),
        ("none", b"Do it.\n".to_vec(), Some("frontmatter-missing")),
        ("open", b"---\nname: open\n".to_vec(), Some("frontmatter")),
        ("bomb", format!("---\n{bomb}\n---\nDo.\n").into_bytes(), Some("frontmatter-invalid")),
        ("empty", Vec::new(), Some("frontmatter-missing")),
    ] {
        let path = project.write(&format!("skills/{name}/SKILL.md"), "");
        std::fs::write(&path, bytes).unwrap();
        let said = project.run(&["lint", path.to_str().unwrap(), "--format", "json"]);
        let issues = said.events()[0]["issues"].to_string();
        match rule {
            None => assert_eq!((said.code, issues.as_str()), (Some(0), "[]"), "{name}"),
            Some(rule) => assert!(said.code == Some(100) && issues.contains(rule), "{name}: {issues}"),
        }
    }
}
