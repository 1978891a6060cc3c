//! The real Claude CLI with a scripted model: the numbers are exactly those of the script. `CLAWGATE_CLAUDE_BIN` names
//! the binary.

use serde_json::{Value, json};

use super::project::Project;

#[test]
#[ignore = "needs the real Claude CLI; .ci/run runs it"]
fn the_real_cli_comes_to_the_numbers_of_the_script() {
    let project = Project::new();
    project.write("e.toml", include_str!("../data/eval/real.toml"));
    let said = project.run(&["e.toml", "--target", "claude", "--format", "json"]);
    let (events, report) = (said.events(), said.report());
    assert_eq!((said.code, &report["status"]), (Some(100), &json!("fail")), "{report:#}");

    let trial = |case: &str, number: u64| {
        let is_it = |event: &&Value| {
            event["case"] == case && event["trial"] == number && event["arm"] == "with_skill"
        };
        events.iter().find(is_it).unwrap().clone()
    };
    for (case, number, status, class, skill) in [
        ("works", 1, "pass", "ok", "used"),
        ("works", 2, "pass", "ok", "used"),
        ("never", 1, "fail", "ok", "loaded"),
        ("asks", 1, "fail", "interactive", "used"),
        ("loses", 1, "fail", "background-task", "used"),
        ("denied", 1, "fail", "permission", "used"),
        ("trigger-1", 1, "pass", "ok", "used"),
        ("trigger-2", 1, "fail", "ok", "loaded"),
        ("trigger-3", 1, "pass", "ok", "loaded"),
    ] {
        let trial = trial(case, number);
        let found = (&trial["status"], &trial["verdict"]["class"], &trial["skill"]);
        assert_eq!(found, (&json!(status), &json!(class), &json!(skill)), "{case}: {trial:#}");
    }
    // The limit in the middle was waited out, and the judge's evidence stands in what it judged.
    let limited = trial("works", 2);
    assert_eq!(limited["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(limited["attempts"][0]["verdict"]["class"], "rate_limit");
    assert_eq!(limited["expectations"][0]["quoted"], true);
    assert_eq!(trial("denied", 1)["denied"], json!(["Write"]));

    let rate = |rate: &Value| (rate["passed"].as_u64().unwrap(), rate["measured"].as_u64().unwrap());
    assert_eq!(rate(&report["overall"]["with_skill"]["pass_rate"]), (2, 6));
    assert_eq!(rate(&report["overall"]["without_skill"]["pass_rate"]), (0, 6));
    assert_eq!(rate(&report["triggers"]["precision"]), (1, 1));
    assert_eq!(rate(&report["triggers"]["recall"]), (1, 2));
    assert_eq!(report["not_measured"], json!({}));
    for control in report["controls"].as_array().unwrap() {
        assert_eq!(control["as_known"], true, "{control}");
    }
}

/// What a trial's tool calls came to, by case and arm: `+` was done, `.` was not allowed.
fn allowed(project: &Project, target: &str, run: &str) -> Vec<(String, String)> {
    let calls = [
        ("Bash", "command = \"python3 -c 1\""),
        ("Bash", "command = \"python3 -c 1 && touch q\""),
        ("Bash", "command = \"touch q\""),
        ("Bash", "command = \"touch q 2>&1\""),
        ("Bash", "command = \"touch q > o.txt\""),
        ("Bash", "command = \"touch $(echo q)\""),
        ("Bash", "command = \"FOO=1 touch q\""),
        ("Bash", "command = \"timeout 5 touch q\""),
        ("Bash", "command = \"(touch q)\""),
        ("Bash", "command = \"find . -name q\""),
        ("Write", "file_path = \"a.txt\", content = \"x\""),
    ];
    let turns = |prompt: &str| -> String {
        let call = |(tool, input): &(&str, &str)| {
            format!(
                "[[api.turns]]\nwhen = {{ prompt = \"{prompt}\" }}\ntool = {{ name = \"{tool}\", input = {{ {input} }} }}\n"
            )
        };
        let end = format!("[[api.turns]]\nwhen = {{ prompt = \"{prompt}\" }}\ntext = \"Done.\"\n");
        calls.iter().map(call).chain([end]).collect()
    };
    let cases: String = [("model", "Do it by model"), ("command", "/greet by command")]
        .map(|(id, prompt)| {
            format!("[[cases]]\nid = \"{id}\"\nprompt = \"{prompt}\"\nassert = [{{ type = \"contains\", needle = \"Done\" }}]\n")
        })
        .concat();
    let text = format!(
        "[eval]\nskill = \"greet\"\n[run]\ntrials = 1\nwithout = false\nretries = 0\n{run}\n\
         [[arms]]\nname = \"inline\"\nskill = \"inline\"\n[[arms]]\nname = \"list\"\nskill = \"list\"\n\
         [[api.turns]]\nwhen = {{ prompt = \"by model\" }}\ntool = {{ name = \"Skill\", input = {{ skill = \"greet\" }} }}\n{}{}{cases}",
        turns("by model"),
        turns("by command")
    );
    for (name, head) in [
        ("inline", "allowed-tools: Bash(python3:*), Write"),
        ("list", "allowed-tools:\n  - Bash(python3:*)\n  - Write"),
    ] {
        project.write(
            &format!("{name}/SKILL.md"),
            &format!("---\nname: greet\ndescription: Greets people.\n{head}\n---\nBegin with Ahoy.\n"),
        );
    }
    project.write("e.toml", &text);
    let said = project.run(&["e.toml", "--target", target, "--format", "json", "--out", target]);
    let trials = said.events().into_iter().filter(|event| event["kind"] == "task");
    let mut found: Vec<(String, String)> = trials
        .map(|trial| {
            let (case, arm) = (trial["case"].as_str().unwrap(), trial["arm"].as_str().unwrap());
            let place = format!("{target}/greet/iteration-1/eval-{case}/{arm}/run-1/attempt-1/stdout");
            let stream = std::fs::read_to_string(project.path().join(place)).unwrap();
            let messages = stream.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let blocks = messages
                .filter(|message| message["type"] == "user")
                .flat_map(|message| message["message"]["content"].as_array().cloned().unwrap_or_default());
            let answers = blocks.filter(|block| block["type"] == "tool_result");
            let came_to = answers.map(|answer| if answer["is_error"] == true { '.' } else { '+' }).collect();
            (format!("{case}/{arm}"), came_to)
        })
        .collect();
    found.sort();
    assert_eq!(found.len(), 6, "{}", said.stderr);
    found
}

#[test]
#[ignore = "needs the real Claude CLI; .ci/run runs it"]
fn the_reference_allows_what_the_real_cli_allows() {
    for run in [
        "permission_mode = \"default\"",
        "allowed_tools = [\"Skill(greet)\"]",
        "allowed_tools = [\"Bash(touch:*)\", \"Skill\"]",
        "allowed_tools = [\"Bash(* q)\", \"Edit(a.txt)\"]",
    ] {
        let project = Project::new();
        let ours = allowed(&project, "reference", run);
        let all = allowed(&project, "claude", run);
        for ((case, ours), (_, theirs)) in ours.iter().zip(&all) {
            // Later versions let a skill that the model called bring what it asks for, too: 2.1.325 does, 2.1.197 does not.
            let name = case.replace("model/", "command/");
            let by_command = all.iter().find(|(case, _)| *case == name).map(|(_, found)| format!("+{found}"));
            let is_later = ours.starts_with('+') && by_command.as_ref() == Some(theirs);
            assert!(ours == theirs || is_later, "{run}: {case}: {ours} here, {theirs} there");
        }
    }
}

/// Two kinds of skill: one that writes files with a script of its own, one that only answers.
const KINDS: [(&str, &str); 2] = [
    ("maker", include_str!("../data/eval/maker.toml")),
    ("polite", include_str!("../data/eval/polite.toml")),
];

/// What became of every trial, and the numbers.
fn numbers(project: &Project, target: &str, skill: &str) -> (Vec<String>, Value) {
    let said =
        project.run(&[&format!("{skill}.toml"), "--target", target, "--format", "json", "--out", target]);
    let of_trial = |trial: &Value| {
        let answers: Vec<_> = trial["assertions"].as_array().unwrap().iter().map(|a| &a["status"]).collect();
        let judged: Vec<_> = trial["expectations"].as_array().unwrap().iter().map(|a| &a["passed"]).collect();
        format!(
            "{}/{}/{} {} {} {} {answers:?} {judged:?} {}",
            trial["case"],
            trial["arm"],
            trial["trial"],
            trial["status"],
            trial["skill"],
            trial["verdict"]["class"],
            trial["tool_calls"]
        )
    };
    let mut trials: Vec<String> =
        said.events().iter().filter(|event| event["type"] == "trial-finished").map(of_trial).collect();
    trials.sort();
    let report = said.report();
    let arm = |name: &str| {
        let arm = &report["overall"][name];
        json!([arm["pass_rate"], arm["skill_used"], arm["verdicts"], arm["not_measured"]])
    };
    let numbers = json!([
        said.code,
        report["status"],
        arm("with_skill"),
        arm("without_skill"),
        report["overall"]["delta"],
        report["triggers"],
        report["judge"],
        report["not_measured"],
    ]);
    (trials, numbers)
}

fn project_of_two_kinds() -> Project {
    let project = Project::new();
    let home = ".claude/skills/maker";
    project.write(
        &format!("{home}/SKILL.md"),
        "---\nname: maker\ndescription: Makes a chart of numbers.\n---\nRun `sh .claude/skills/maker/scripts/make.sh NUMBERS`.\n",
    );
    project.write(&format!("{home}/scripts/make.sh"), include_str!("../data/eval/make.sh"));
    project.write(
        ".claude/skills/polite/SKILL.md",
        "---\nname: polite\ndescription: Answers politely.\n---\nBegin with `Dear friend`.\n",
    );
    for (skill, spec) in KINDS {
        project.write(&format!("{skill}.toml"), spec);
    }
    project
}

#[test]
fn a_skill_that_writes_and_one_that_answers_are_measured_and_a_picture_is_judged() {
    let project = project_of_two_kinds();
    for (skill, _) in KINDS {
        let (trials, numbers) = numbers(&project, "reference", skill);
        assert_eq!((&numbers[0], &numbers[1]), (&json!(0), &json!("pass")), "{trials:#?}\n{numbers}");
        assert_eq!(
            (&numbers[2][0]["passed"], &numbers[3][0]["passed"]),
            (&json!(2), &json!(0)),
            "{trials:#?}"
        );
    }
    let place = "reference/maker/iteration-1/eval-chart/with_skill/run-1/judge-1/stdin";
    let asked = std::fs::read_to_string(project.path().join(place)).unwrap();
    assert!(asked.contains("### chart.png (PNG image, "), "{asked}");
}

#[test]
#[ignore = "needs the real Claude CLI; .ci/run runs it"]
fn both_kinds_come_to_the_same_numbers_on_the_real_cli() {
    let project = project_of_two_kinds();
    for (skill, _) in KINDS {
        let (ours, theirs) = (numbers(&project, "reference", skill), numbers(&project, "claude", skill));
        assert_eq!(ours.0, theirs.0, "{skill}");
        assert_eq!(ours.1, theirs.1, "{skill}");
    }
}

/// One skill, and how each agent's model comes to use it.
const ON_AGENTS: &str = r#"
[eval]
skill = "greet"
[run]
trials = 1
backoff_ms = 10
[[api.turns]]
when = { prompt = "Welcome Ann", tool_result = "manner of pirates" }
text = "Ahoy, Ann!"
[[api.turns]]
when = { prompt = "Welcome Ann" }
tool = TOOL
[[rules]]
with_skill = false
case = "ann"
api = "plain"
[[cases]]
id = "ann"
prompt = "Welcome Ann"
[[cases.assert]]
id = "pirate"
type = "contains"
needle = "Ahoy"
"#;

#[test]
#[ignore = "needs the Codex CLI and the Gemini CLI in CLAWGATE_CACHE; .ci/run runs it"]
fn one_skill_is_evaluated_on_other_agents() {
    let cache = std::env::var_os("CLAWGATE_CACHE").unwrap();
    for (target, tool) in [
        (
            "codex@0.166.0",
            r#"{ name = "exec_command", input = { cmd = "cat .agents/skills/greet/SKILL.md" } }"#,
        ),
        ("gemini@0.61.0", r#"{ name = "activate_skill", input = { name = "greet" } }"#),
    ] {
        let project = Project::new();
        project.write("e.toml", &ON_AGENTS.replace("TOOL", tool));
        let mut command = project.command(&["e.toml", "--target", target, "--format", "json"]);
        let output = command.env("CLAWGATE_CACHE", &cache).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let events = crate::support::json_lines(output.stdout);
        let report = events.last().unwrap();
        assert_eq!((output.status.code(), &report["status"]), (Some(0), &json!("pass")), "{target}: {told}");
        let of = |arm: &str| report["overall"][arm].clone();
        let rate =
            |arm: &str| (of(arm)["pass_rate"]["passed"].clone(), of(arm)["pass_rate"]["measured"].clone());
        assert_eq!(rate("with_skill"), (json!(1), json!(1)), "{target}");
        assert_eq!(rate("without_skill"), (json!(0), json!(1)), "{target}");
        assert_eq!(of("with_skill")["skill_used"], json!(1), "{target}");
        // What the agent cannot be told is said.
        let conditions = report["stamp"]["conditions"].to_string();
        assert!(conditions.contains("the target has no flag for it"), "{target}: {conditions}");
    }
}
