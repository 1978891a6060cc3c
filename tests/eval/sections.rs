//! Sections: a model finds entries in the output, and code checks them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use serde_json::{Value, json};

use super::project::{Project, Said};

const SPEC: &str = r#"{
  "skill_name": "venues",
  "test_args": "San Jose",
  "sections": [{"name": "Venues", "tiers": [{"label": "default", "min_entries": 2, "max_entries": 3, "fields": [
    {"id": "v-name", "name": "name"},
    {"id": "v-phone", "name": "phone", "format": "phone_us"},
    {"id": "v-site", "name": "website", "required": false, "format": "domain"}]}]}],
  "variance": {"n_runs": 1}
}"#;

const OUTPUT: &str = "**1. Joe's Café**, 408-298-5437, joes.example.com\\n**2. The Zoo**, (408) 555-0100\\n\
                      **3. Third**, 408-555-0101\\n**4. Fourth**, 408-555-0102";

/// A project with a skill that lists venues, and a model that finds `entries` in what it says.
fn project(output: &str, entries: &Value) -> Project {
    let project = Project::new();
    let skill = "---\nname: venues\ndescription: Lists venues.\n---\nList venues of the town. $ARGUMENTS\n";
    project.write(".claude/skills/venues/SKILL.md", skill);
    project.write(".claude/skills/venues/SKILL.eval.json", SPEC);
    project.write("model.toml", &model(output, &json!({"Venues": {"default": entries}})));
    project
}

/// A value as it stands in a TOML file; what is null is left out.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields: Vec<String> =
                fields.map(|(name, value)| format!("{} = {}", json!(name), inline(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn model(output: &str, answer: &Value) -> String {
    format!(
        "[scenario]\nname = \"model\"\n[[api.turns]]\nwhen = {{ prompt = \"Extract entries\" }}\n\
         tool = {{ name = \"StructuredOutput\", input = {} }}\n\
         [[api.turns]]\nwhen = {{ prompt = \"List venues of the town\" }}\ntext = \"{output}\"\n\
         [[api.turns]]\ntext = \"Nothing.\"\n",
        inline(answer)
    )
}

fn venue(name: &str, phone: Option<&str>, website: Option<&str>) -> Value {
    json!({"name": name, "phone": phone, "website": website})
}

/// The trial with the skill.
fn trial(said: &Said) -> Value {
    let is_it = |event: &Value| event["type"] == "trial-finished" && event["arm"] == "with_skill";
    said.events().into_iter().find(is_it).unwrap_or_else(|| panic!("{}{}", said.stdout, said.stderr))
}

fn evaluate(project: &Project, more: &[&str]) -> Said {
    let args = [".claude/skills/venues", "--script", "model.toml", "--only-with"];
    project.eval(&[&args[..], more].concat())
}

fn answer(trial: &Value, id: &str) -> (String, String) {
    let all = trial["assertions"].as_array().unwrap();
    let found =
        all.iter().find(|checked| checked["id"] == id).unwrap_or_else(|| panic!("no {id}: {trial:#}"));
    (found["status"].as_str().unwrap().into(), found["message"].as_str().unwrap().into())
}

#[test]
fn what_a_model_finds_in_the_output_is_checked_by_code() {
    let joes = venue("Joe's Café", Some("408-298-5437"), Some("joes.example.com"));
    let zoo = venue("The Zoo", Some("(408) 555-0100"), None);
    let project = project(OUTPUT, &json!([joes, zoo]));
    let said = evaluate(&project, &[]);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    let passed = trial(&said);
    assert_eq!(passed["status"], "pass");
    assert_eq!(passed["extracted"]["sections"]["Venues"]["default"][0]["phone"], "408-298-5437");
    let ids: Vec<&str> = passed["assertions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|checked| checked["id"].as_str().unwrap())
        .collect();
    let counts = ["section:Venues:count/default", "section:Venues:count_max/default"];
    assert_eq!(ids, [&counts[..], &["v-name", "v-phone", "v-site"]].concat());
    // What was found is kept, so that it can be checked again without asking anybody.
    let iteration = project.path().join("clawgate-out/eval/venues/iteration-1");
    assert!(iteration.join("eval-1/with_skill/run-1/extract-1/recording.json").is_file());
    project.write(
        ".claude/skills/venues/SKILL.eval.json",
        &SPEC.replace("\"min_entries\": 2", "\"min_entries\": 3"),
    );
    let said = project.run(&["grade", iteration.to_str().unwrap(), "--format", "json"]);
    assert_eq!(said.code, Some(100), "{}{}", said.stdout, said.stderr);
    let (status, message) = answer(&trial(&said), "section:Venues:count/default");
    assert_eq!((status.as_str(), message.as_str()), ("fail", "2 entries"));
}

#[test]
fn what_is_missing_or_has_the_wrong_form_fails_the_trial() {
    let joes = venue("Joe's Café", Some("408-298-5437"), Some("joes.example.com"));
    for (entries, id, expected) in [
        (json!([joes]), "section:Venues:count/default", "1 entries"),
        (
            json!([
                joes,
                venue("The Zoo", Some("(408) 555-0100"), None),
                venue("Third", Some("408-555-0101"), None),
                venue("Fourth", Some("408-555-0102"), None)
            ]),
            "section:Venues:count_max/default",
            "4 entries",
        ),
        (json!([joes, venue("The Zoo", None, None)]), "v-phone", "entry 2: missing"),
        (json!([joes, venue("The Zoo", Some("5437"), None)]), "v-phone", "entry 2: \"5437\""),
        (
            json!([venue("Third", Some("408-555-0101"), Some("Fourth")), joes]),
            "v-site",
            "entry 1: \"Fourth\"",
        ),
    ] {
        let project = project(OUTPUT, &entries);
        let said = evaluate(&project, &[]);
        assert_eq!(said.code, Some(100), "{entries}: {}", said.stdout);
        let trial = trial(&said);
        assert_eq!(trial["status"], "fail", "{entries}");
        assert_eq!(answer(&trial, id), ("fail".into(), expected.into()), "{entries}");
    }
}

#[test]
fn what_does_not_stand_in_the_output_is_the_models_failure_and_counts_for_nothing() {
    let joes = venue("Joe's Café", Some("408-298-5437"), None);
    // How a text is wrapped and capitalised does not matter.
    let zoo = venue("THE  ZOO", Some("(408) 555-0100"), None);
    for (entries, id, expected) in [
        (
            json!([joes, venue("The Zoo", Some("408-111-2222"), None)]),
            "v-phone",
            "entry 2: \"408-111-2222\", which does not stand in the output",
        ),
        (
            json!([joes, venue("The Zoo", Some("nonsense"), None)]),
            "v-phone",
            "entry 2: \"nonsense\", which does not stand in the output",
        ),
        (
            json!([joes, venue("Invented", Some("999"), None)]),
            "section:Venues:count/default",
            "2 entries, 1 of which do not stand in the output",
        ),
        (
            json!([joes, zoo, zoo, venue("Invented", Some("999"), None)]),
            "section:Venues:count_max/default",
            "4 entries, 1 of which do not stand in the output",
        ),
    ] {
        let project = project(OUTPUT, &entries);
        let said = evaluate(&project, &[]);
        let trial = trial(&said);
        assert_eq!(answer(&trial, id), ("unchecked".into(), expected.into()), "{entries}");
        assert_eq!(trial["status"], "not-measured", "{trial:#}");
        assert_eq!(said.code, Some(3), "{}", said.stdout);
    }
}

#[test]
fn a_model_that_fails_to_extract_leaves_the_trial_unmeasured() {
    let project = project(OUTPUT, &json!([]));
    // The command line refuses an answer of another form, as often as the model gives it.
    project.write("model.toml", &model(OUTPUT, &json!({"Events": {}})));
    let said = evaluate(&project, &[]);
    let failed = trial(&said);
    assert_eq!((said.code, &failed["status"]), (Some(3), &json!("not-measured")), "{failed:#}");
    let reason = failed["reason"].as_str().unwrap();
    assert!(reason.starts_with("not checked: entries of Venues: the model that extracts failed"), "{reason}");
    // It answers, and not in the form.
    let silent = model(OUTPUT, &json!({}))
        .replace("tool = { name = \"StructuredOutput\", input = {  } }", "text = \"I cannot.\"");
    project.write("model.toml", &silent);
    let reason = trial(&evaluate(&project, &[]))["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("the model gave no structured answer"), "{reason}");
}

#[test]
fn an_output_that_is_too_long_is_not_searched_in_part() {
    let project = project(&format!("{OUTPUT}{}", "x".repeat(100 << 10)), &json!([]));
    let reason = trial(&evaluate(&project, &[]))["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("at most 98304 are searched"), "{reason}");
}

#[test]
fn entries_that_nobody_demands_do_not_make_a_pass() {
    let project = project(OUTPUT, &json!([]));
    let spec = SPEC.replace("\"min_entries\": 2, \"max_entries\": 3,", "");
    project.write(".claude/skills/venues/SKILL.eval.json", &spec);
    let said = evaluate(&project, &[]);
    let trial = trial(&said);
    assert_eq!((said.code, &trial["status"]), (Some(3), &json!("not-measured")));
    assert_eq!(trial["reason"], "nothing was found that could be checked");
}

#[test]
fn a_case_of_our_own_has_sections_too() {
    let project = project(OUTPUT, &json!([]));
    let entries = json!({"People": {"default": [{"name": "Ann"}]}});
    let spec = format!(
        "[eval]\nskill = \"venues\"\n[run]\ntrials = 1\nwithout = false\nrequire_use = false\n\
         [[cases]]\nid = \"people\"\nprompt = \"Who is there?\"\n[[cases.sections]]\nname = \"People\"\n\
         tiers = [{{ label = \"default\", min_entries = 1, fields = [{{ id = \"p\", name = \"name\" }}] }}]\n\
         [[api.turns]]\nwhen = {{ prompt = \"Extract entries\" }}\ntool = {{ name = \"StructuredOutput\", input = {} }}\n\
         [[api.turns]]\ntext = \"Ann is here.\"\n",
        inline(&entries)
    );
    project.write("own.toml", &spec);
    let said = project.eval(&["own.toml"]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    project.write("own.toml", &spec.replace("Ann is here.", "Nobody is here."));
    let said = project.eval(&["own.toml"]);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    for (from, to, expected) in [
        ("min_entries = 1", "min_entries = 1, max_entries = 0", "expected 1 or more, which is `min_entries`"),
        (
            "{ id = \"p\", name = \"name\" }",
            "{ id = \"p\", name = \"name\" }, { id = \"p\", name = \"x\" }",
            "duplicate id `p`",
        ),
        ("id = \"p\", ", "", "missing key `id`"),
        ("name = \"name\"", "name = \"name\", pattern = \"x\"", "did you mean `format`?"),
        ("label = \"default\"", "lable = \"default\"", "missing key `label`"),
        ("tiers = [", "fields = [", "wrap `fields` inside an entry of `tiers`"),
    ] {
        assert!(spec.contains(from), "{from}");
        project.write("own.toml", &spec.replacen(from, to, 1));
        let said = project.eval(&["own.toml"]);
        assert_eq!(said.code, Some(2), "{to}: {}", said.stdout);
        assert!(said.stderr.contains(expected), "{to}: {}", said.stderr);
    }
}
