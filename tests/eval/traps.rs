//! Traps: evaluations that look good or bad and are not. Each says what must come of it: green (0), red (100), refused (2)
//! or unmeasured (3).

use serde_json::{Value, json};

use super::project::{Project, Said};

const GREEN: i32 = 0;
const RED: i32 = 100;
const REFUSED: i32 = 2;
const UNMEASURED: i32 = 3;

/// A turn in which the model calls a tool.
fn call(tool: &str, input: &str) -> String {
    format!(
        "[[api.turns]]\nwhen = {{ prompt = \"Do it\" }}\ntool = {{ name = \"{tool}\", input = {{ {input} }} }}\n"
    )
}

/// A turn in which the model says something.
fn say(text: &str) -> String {
    format!("[[api.turns]]\nwhen = {{ prompt = \"Do it\" }}\ntext = \"{text}\"\n")
}

fn use_skill() -> String {
    call("Skill", "skill = \"greet\"")
}

/// A trap: the head of the skill, settings of the run, what the model does, and the rest of the file.
struct Trap<'t> {
    head: &'t str,
    run: &'t str,
    turns: String,
    case: &'t str,
    rest: &'t str,
    trials: u32,
    without: bool,
}

const IN_FILE: &str = "[[cases.assert]]\ntype = \"file\"\npath = \"a.txt\"\ncontains = \"Ahoy\"\n";
const AHOY: &str = "[[cases.assert]]\ntype = \"contains\"\nneedle = \"Ahoy\"\n";

impl Default for Trap<'_> {
    fn default() -> Self {
        Self {
            head: "",
            run: "",
            turns: use_skill() + &say("Ahoy, Ann!"),
            case: AHOY,
            rest: "",
            trials: 2,
            without: false,
        }
    }
}

impl Trap<'_> {
    fn set(&self, args: &[&str]) -> (Project, Said) {
        let project = Project::new();
        let skill =
            format!("---\nname: greet\ndescription: Greets people.\n{}---\nBegin with Ahoy.\n", self.head);
        project.write(".claude/skills/greet/SKILL.md", &skill);
        let Self { run, turns, case, rest, trials, without, .. } = self;
        let text = format!(
            "[eval]\nskill = \"greet\"\n[run]\ntrials = {trials}\nwithout = {without}\nbackoff_ms = 1\n{run}\n{turns}\n\
             [[cases]]\nid = \"it\"\nprompt = \"Do it\"\n{case}\n{rest}\n"
        );
        project.write("e.toml", &text);
        let said = project.eval(&[&["e.toml"], args].concat());
        (project, said)
    }

    /// Sets it, and returns the report.
    fn comes_to(&self, expected: i32) -> Value {
        let (_, said) = self.set(&[]);
        assert_eq!(said.code, Some(expected), "{}\n{}", said.stdout, said.stderr);
        said.report()
    }
}

fn with(report: &Value, key: &str) -> Value {
    report["overall"]["with_skill"][key].clone()
}

#[test]
fn a_skill_call_that_failed_is_no_use() {
    let report = Trap { head: "disable-model-invocation: true\n", ..Trap::default() }.comes_to(RED);
    assert_eq!((with(&report, "skill_used"), with(&report, "skill_refused")), (json!(0), json!(2)));
    assert!(
        report["cases"][0]["example"]["reason"].as_str().unwrap().contains("its call failed"),
        "{report:#}"
    );
    let report = Trap::default().comes_to(GREEN);
    assert_eq!(with(&report, "skill_used"), 2);
}

#[test]
fn a_skill_that_brings_permissions_is_denied_only_where_somebody_says_so() {
    let head = "allowed-tools: Bash(python3:*)\n";
    let report = Trap { head, run: "permission_mode = \"default\"", ..Trap::default() }.comes_to(RED);
    assert_eq!(with(&report, "skill_refused"), 2);
    Trap { head, run: "allowed_tools = [\"Skill(greet)\"]", ..Trap::default() }.comes_to(GREEN);
    Trap { head, ..Trap::default() }.comes_to(GREEN);
}

#[test]
fn reading_the_skills_file_is_a_use_and_told_apart() {
    let read = |path: &str| call("Read", &format!("file_path = \"{path}\"")) + &say("Ahoy!");
    let report = Trap { turns: read(".claude/skills/greet/SKILL.md"), ..Trap::default() }.comes_to(GREEN);
    assert_eq!((with(&report, "skill_used"), with(&report, "skill_read")), (json!(2), json!(2)));
    Trap { turns: read(".claude/skills/other/SKILL.md"), ..Trap::default() }.comes_to(RED);
}

#[test]
fn a_tool_that_failed_or_was_denied_was_not_used() {
    let case = "[[cases.assert]]\ntype = \"tool_used\"\ntool = \"Bash\"\n";
    let bash =
        |command: &str| use_skill() + &call("Bash", &format!("command = \"{command}\"")) + &say("Ahoy!");
    Trap { turns: bash("exit 3"), case, ..Trap::default() }.comes_to(RED);
    Trap { turns: bash("touch a"), case, ..Trap::default() }.comes_to(GREEN);
    let denied = "[[cases.assert]]\ntype = \"verdict\"\nclass = [\"ok\", \"permission\"]\n";
    let case = format!("{case}{denied}");
    Trap { turns: bash("touch a"), case: &case, run: "permission_mode = \"default\"", ..Trap::default() }
        .comes_to(RED);
    // What was tried is too much where it must not be; what was denied was not done.
    let never = format!("[[cases.assert]]\ntype = \"tool_not_used\"\ntool = \"Bash\"\n{denied}");
    Trap { turns: bash("exit 3"), case: &never, ..Trap::default() }.comes_to(RED);
    Trap { turns: bash("touch a"), case: &never, run: "permission_mode = \"default\"", ..Trap::default() }
        .comes_to(GREEN);
}

#[test]
fn patterns_of_permissions_allow_what_they_say() {
    let bash =
        |command: &str| use_skill() + &call("Bash", &format!("command = \"{command}\"")) + &say("Ahoy!");
    let run = "allowed_tools = [\"Bash(mkdir:*)\"]";
    Trap { turns: bash("mkdir a"), run, ..Trap::default() }.comes_to(GREEN);
    Trap { turns: bash("mkdir a && touch b"), run, ..Trap::default() }.comes_to(RED);
    Trap { turns: bash("mkdirs a"), run, ..Trap::default() }.comes_to(RED);
    let (_, said) =
        Trap { turns: bash("mkdir a"), ..Trap::default() }.set(&["--allowed-tools", "Bash(mkdir:*),Read"]);
    assert_eq!(said.code, Some(GREEN), "{}", said.stderr);
    let (_, said) = Trap { turns: bash("mkdir a"), ..Trap::default() }.set(&["--permission-mode", "default"]);
    assert_eq!(said.code, Some(RED), "{}", said.stderr);
}

#[test]
fn what_trials_are_run_under_is_told_first_and_stands_in_the_report() {
    let (_, said) = Trap::default().set(&[]);
    let events = said.events();
    let allowed =
        |conditions: &Value| conditions.to_string().contains("everything is allowed, inside a room");
    assert!(events[0]["type"] == "eval-started" && allowed(&events[0]["conditions"]), "{}", events[0]);
    assert!(allowed(&said.report()["stamp"]["conditions"]));
    let (project, _) = Trap::default().set(&[]);
    for page in ["report.html", "summary.md"] {
        let place = project.path().join("clawgate-out/eval/greet/iteration-1").join(page);
        let text = std::fs::read_to_string(place).unwrap();
        assert!(text.contains("everything is allowed, inside a room"), "{page}: {text}");
    }
    let trap = Trap { run: "permission_mode = \"acceptEdits\"", ..Trap::default() };
    assert!(!allowed(&trap.comes_to(GREEN)["stamp"]["conditions"]));
}

/// What the judge answers, in a rule's script.
fn judged(passed: bool, score: f64, evidence: &str) -> String {
    format!(
        "[[api.turns]]\nwhen = {{ prompt = \"Judge the work\" }}\ntool = {{ name = \"StructuredOutput\", input = {{ expectations = \
         [{{ id = \"expectation-1\", passed = {passed}, score = {score}, evidence = \"{evidence}\" }}] }} }}\n"
    )
}

#[test]
fn a_judge_is_believed_only_where_it_agrees_with_itself_and_with_the_work() {
    let case = "expectations = [\"It is friendly.\"]\n";
    for (passed, score, evidence, expected) in [
        (true, 1.0, "Ahoy, Ann!", GREEN),
        (false, 0.0, "nothing friendly in it", RED),
        (true, 1.0, "Welcome aboard, dear Ann!", UNMEASURED),
        (true, 0.1, "Ahoy, Ann!", UNMEASURED),
        (false, 0.9, "Ahoy, Ann!", UNMEASURED),
    ] {
        let turns = judged(passed, score, evidence) + &use_skill() + &say("Ahoy, Ann!");
        let report = Trap { turns, case, ..Trap::default() }.comes_to(expected);
        let not_believed = if expected == UNMEASURED { 2 } else { 0 };
        assert_eq!(report["judge"]["not_believed"], json!({"count": not_believed, "of": 2}), "{evidence}");
        assert_eq!(report["controls"].as_array().unwrap().len(), 6);
    }
}

#[test]
fn a_judge_that_always_agrees_makes_the_evaluation_invalid() {
    let agrees = "[scenario]\nname = \"agrees\"\n[[api.turns]]\ntool = { name = \"StructuredOutput\", input = { expectations = [\
                  { id = \"statement-1\", passed = true, score = 1, evidence = \"Paris\" }, \
                  { id = \"statement-2\", passed = true, score = 1, evidence = \"42\" }, \
                  { id = \"statement-3\", passed = true, score = 1, evidence = \"capital\" }] } }\n";
    let case = "expectations = [\"It is friendly.\"]\n";
    let turns = judged(true, 1.0, "Ahoy, Ann!") + &use_skill() + &say("Ahoy, Ann!");
    let rest = "[[rules]]\njudge = true\ncase = \"judge-fail\"\napi = \"agrees.toml\"\n";
    let project = Project::new();
    project.write("agrees.toml", agrees);
    let text = format!(
        "[eval]\nskill = \"greet\"\n[run]\ntrials = 1\nwithout = false\n{turns}\n[[cases]]\nid = \"it\"\nprompt = \"Do it\"\n{case}\n{rest}"
    );
    project.write("e.toml", &text);
    let said = project.eval(&["e.toml"]);
    let report = said.report();
    assert_eq!((said.code, &report["status"]), (Some(UNMEASURED), &json!("invalid")), "{}", said.stdout);
    assert_eq!(report["judge"]["false_passes"], json!({"count": 3, "of": 4}));
    assert_eq!(report["judge"]["false_failures"], json!({"count": 0, "of": 4}));
}

#[test]
fn binary_output_can_be_judged() {
    let make = "command = \"printf 'a\\\\000b\\\\377' > out.bin; printf text > note.txt\"";
    let turns =
        judged(true, 1.0, "out.bin (binary, 4 bytes") + &use_skill() + &call("Bash", make) + &say("Ahoy!");
    let case = "output = \"out.bin\"\nexpectations = [\"A file was written.\"]\n";
    let trap = Trap { turns, case, ..Trap::default() };
    trap.comes_to(GREEN);
    let (project, _) = trap.set(&[]);
    let place = "clawgate-out/eval/greet/iteration-1/eval-it/with_skill/run-1/judge-1/stdin";
    let asked = std::fs::read_to_string(project.path().join(place)).unwrap();
    assert!(asked.contains("### out.bin (binary, 4 bytes, not shown)"), "{asked}");
    assert!(asked.contains("### note.txt (text, 4 bytes)\ntext"), "{asked}");
}

#[test]
fn a_skill_that_crashes_half_of_the_time_is_not_green() {
    let crash = "[scenario]\nname = \"crash\"\n[[api.turns]]\ntool = { name = \"Skill\", input = { skill = \"greet\" } }\n\
                 [[api.turns]]\ntool = { name = \"Bash\", input = { command = \"kill -9 $PPID\" } }\n";
    let spec = |trials: u32, crashing: &str, without: bool| {
        let project = Project::new();
        project.write("crash.toml", crash);
        let rules = format!(
            "[[rules]]\ncase = \"it\"\nwith_skill = true\ntrials = [{crashing}]\napi = \"crash.toml\"\n"
        );
        let text = format!(
            "[eval]\nskill = \"greet\"\n[run]\ntrials = {trials}\nwithout = {without}\nretries = 0\n{}\n{}\n[[cases]]\nid = \"it\"\n\
             prompt = \"Do it\"\n{AHOY}{rules}",
            use_skill(),
            say("Ahoy, Ann!")
        );
        project.write("e.toml", &text);
        project.eval(&["e.toml"])
    };
    let said = spec(8, "1, 3, 5, 7", true);
    assert_eq!(said.code, Some(RED), "{}", said.stdout);
    let report = said.report();
    assert!(report["failures"].to_string().contains("that is no chance"), "{}", report["failures"]);
    assert_eq!(report["overall"]["broke_off"]["with_skill"], json!({"count": 4, "of": 8}));
    assert_eq!(spec(2, "1", false).code, Some(UNMEASURED));
    assert_eq!(spec(4, "1", false).code, Some(GREEN));
}

#[test]
fn a_courtesy_question_after_finished_work_is_no_failure_and_a_real_one_can_be_switched_off() {
    let write = call("Write", "file_path = \"a.txt\", content = \"Ahoy\"");
    let polite = use_skill() + &write + &say("Ahoy! I wrote a.txt. Would you like me to add anything else?");
    Trap { turns: polite, ..Trap::default() }.comes_to(GREEN);
    let asks = || use_skill() + &say("Ahoy. Which of the two Anns do you want me to greet?");
    Trap { turns: asks(), ..Trap::default() }.comes_to(RED);
    let (_, said) = Trap { turns: asks(), ..Trap::default() }.set(&["--no-heuristics"]);
    assert_eq!(said.code, Some(GREEN), "{}", said.stdout);
}

#[test]
fn a_trial_that_costs_too_much_fails_and_the_model_is_not_told_of_the_budget() {
    let (project, said) = Trap { run: "max_cost_usd = 0.0000001", ..Trap::default() }.set(&[]);
    assert_eq!(said.code, Some(RED), "{}", said.stdout);
    let place = "clawgate-out/eval/greet/iteration-1/eval-it/with_skill/run-1/attempt-1/recording.json";
    let recording = std::fs::read_to_string(project.path().join(place)).unwrap();
    assert!(!recording.contains("budget"), "{recording}");
}

/// A trap with a name, set once.
fn set_all(traps: Vec<(&str, Trap<'_>)>, expected: i32) {
    for (name, trap) in traps {
        let (_, said) = Trap { trials: trap.trials.min(4), ..trap }.set(&[]);
        assert_eq!(said.code, Some(expected), "{name}\n{}\n{}", said.stdout, said.stderr);
    }
}

/// A trap that is tried once.
fn once(turns: String) -> Trap<'static> {
    Trap { turns, trials: 1, ..Trap::default() }
}

fn bash(command: &str) -> String {
    call("Bash", &format!("command = \"{command}\""))
}

fn write(path: &str) -> String {
    call("Write", &format!("file_path = \"{path}\", content = \"Ahoy\""))
}

#[test]
fn what_looks_bad_and_is_good_is_green() {
    let given = format!("files = {{ \"a.txt\" = \"x\" }}\n{IN_FILE}");
    let used = "[[cases.assert]]\ntype = \"tool_used\"\ntool = \"Bash\"\n";
    let exam = "setup = \"echo base > base.txt\"\n[[cases.assert]]\ntype = \"exec\"\n\
                command = \"test -f base.txt && grep -q Ahoy ~/response.txt\"\n";
    let limited = "[[rules]]\ncase = \"it\"\nattempts = [1]\nfaults = [\"http:status=429\"]\n";
    let triggers = "[triggers]\nshould = [\"Do it again\"]\nshould_not = [\"How late is it?\"]\n\
                    [[api.turns]]\nwhen = { prompt = \"How late\" }\ntext = \"Nine.\"\n";
    set_all(
        vec![
            (
                "a file that was there is written anew",
                Trap { case: &given, ..once(use_skill() + &write("a.txt") + &say("Done.")) },
            ),
            (
                "a command fails and is tried again",
                Trap { case: used, ..once(use_skill() + &bash("exit 3") + &bash("touch b") + &say("Ahoy!")) },
            ),
            (
                "another skill is called first, which there is not",
                once(call("Skill", "skill = \"nope\"") + &use_skill() + &say("Ahoy!")),
            ),
            ("a grader sees what was prepared", Trap { case: exam, ..once(use_skill() + &say("Ahoy!")) }),
            ("a rate limit ends", Trap { rest: limited, ..once(use_skill() + &say("Ahoy!")) }),
            ("triggers come out right", Trap { rest: triggers, ..once(use_skill() + &say("Ahoy!")) }),
            (
                "a path stands for several files",
                Trap {
                    case: "[[cases.assert]]\ntype = \"file\"\npath = \"out/*.txt\"\ncontains = \"Ahoy\"\n",
                    ..once(
                        use_skill()
                            + &bash("mkdir out; echo x > out/a.txt; echo Ahoy > out/b.txt")
                            + &say("Done."),
                    )
                },
            ),
            (
                "a pattern is about the command and not the JSON around it",
                Trap {
                    case: "[[cases.assert]]\ntype = \"tool_used\"\ntool = \"Bash\"\ninput_pattern = \"^touch a$\"\n",
                    ..once(use_skill() + &bash("touch a") + &say("Done."))
                },
            ),
            (
                "a skill that no list names is called by the model",
                Trap {
                    head: "user-invocable: false\n",
                    rest: "[triggers]\nshould = [\"Do it again\"]\n",
                    ..once(use_skill() + &say("Ahoy!"))
                },
            ),
        ],
        GREEN,
    );
}

#[test]
fn what_looks_good_and_is_bad_is_red() {
    let given = format!("files = {{ \"a.txt\" = \"Ahoy\" }}\n{IN_FILE}");
    let prepared = format!("setup = \"echo Ahoy > a.txt\"\n{IN_FILE}");
    let order = "[[cases.assert]]\ntype = \"tool_order\"\ntools = [\"Skill\", \"Bash\"]\n";
    let never = "[[cases.assert]]\ntype = \"tool_not_used\"\ntool = \"Bash\"\n";
    let should_not = "[triggers]\nshould_not = [\"Do it, but without any skill\"]\n";
    let should = "[triggers]\nshould = [\"Do it as before\"]\n";
    let namesake = format!("files = {{ \"docs/greet/SKILL.md\" = \"x\" }}\n{AHOY}");
    let done = || use_skill() + &say("Ahoy!");
    set_all(
        vec![
            ("the file was there before", Trap { case: &given, ..once(done()) }),
            ("the file was prepared", Trap { case: &prepared, ..once(done()) }),
            ("the file is only talked of", Trap { case: IN_FILE, ..once(done()) }),
            ("another skill is called", once(call("Skill", "skill = \"nope\"") + &say("Ahoy!"))),
            (
                "a file of the skill is read that there is not",
                once(call("Read", "file_path = \"x/greet/SKILL.md\"") + &say("Ahoy!")),
            ),
            (
                "the second of two tools failed",
                Trap { case: order, ..once(use_skill() + &bash("exit 3") + &say("Ahoy!")) },
            ),
            (
                "a tool was used that must not be",
                Trap { case: never, ..once(use_skill() + &bash("touch a") + &say("Ahoy!")) },
            ),
            ("the turns are used up", Trap { run: "max_turns = 1", ..once(done()) }),
            (
                "the skill adds nothing",
                Trap {
                    run: "require_use = false",
                    rest: "[thresholds]\nmin_delta = 0.1\n",
                    without: true,
                    ..once(say("Ahoy!"))
                },
            ),
            ("the skill is used where it should not be", Trap { rest: should_not, ..once(done()) }),
            (
                "the skill is called where it should not be, and refused",
                Trap {
                    rest: should_not,
                    head: "disable-model-invocation: true\n",
                    run: "require_use = false",
                    ..once(done())
                },
            ),
            (
                "a file of the same name is read elsewhere",
                Trap {
                    case: &namesake,
                    ..once(call("Read", "file_path = \"docs/greet/SKILL.md\"") + &say("Ahoy!"))
                },
            ),
            (
                "a skill that only models may call is called by the user",
                Trap {
                    head: "user-invocable: false\n",
                    case: "[[cases.assert]]\ntype = \"not_contains\"\nneedle = \"error\"\n[[cases]]\nid = \"named\"\n\
                           prompt = \"/greet Ann\"\n[[cases.assert]]\ntype = \"not_contains\"\nneedle = \"error\"\n",
                    ..once(done())
                },
            ),
            (
                "a file fits what must not be written",
                Trap {
                    case: "[[cases.assert]]\ntype = \"no_file\"\npath = \"*.bak\"\n",
                    ..once(use_skill() + &write("a.bak") + &say("Ahoy!"))
                },
            ),
            (
                "a command is run that must not be",
                Trap {
                    case: "[[cases.assert]]\ntype = \"tool_not_used\"\ntool = \"Bash\"\ninput_pattern = \"^touch\"\n",
                    ..once(use_skill() + &bash("touch a") + &say("Ahoy!"))
                },
            ),
            (
                "one of several is another",
                Trap {
                    case: "[[cases.assert]]\ntype = \"json\"\npath = \"$[*].x\"\nequals = 1\n",
                    ..once(use_skill() + &say("[{\\\"x\\\": 1}, {\\\"x\\\": 2}]"))
                },
            ),
            (
                "the skill is called where it should be, and refused",
                Trap {
                    rest: should,
                    head: "disable-model-invocation: true\n",
                    run: "require_use = false",
                    ..once(done())
                },
            ),
        ],
        RED,
    );
}

#[test]
fn what_says_nothing_is_unmeasured() {
    let misspelt = "[[cases.assert]]\ntype = \"tool_not_used\"\ntool = \"bash\"\n";
    let judged_case = "expectations = [\"It is friendly.\"]\n";
    let judged_by = |evidence: &str| Trap {
        case: judged_case,
        ..once(judged(true, 1.0, evidence) + &use_skill() + &say("Ahoy, Ann!"))
    };
    let limited = "[[rules]]\ncase = \"it\"\nfaults = [\"http:status=429\"]\n";
    let too_much = "[[rules]]\ncase = \"it\"\ntrials = [1, 2]\nfaults = [\"http:status=400\"]\n";
    let brought = format!(
        "setup = \"mkdir -p .claude/skills/greet && echo x > .claude/skills/greet/SKILL.md\"\n{AHOY}"
    );
    set_all(
        vec![
            (
                "a tool must not be used that nobody knows",
                Trap { case: misspelt, ..once(use_skill() + &bash("touch a") + &say("Ahoy!")) },
            ),
            ("a letter is quoted", judged_by("o")),
            (
                "a letter that is a word is quoted",
                Trap {
                    case: judged_case,
                    ..once(judged(true, 1.0, "a") + &use_skill() + &say("Ahoy, what a day, Ann!"))
                },
            ),
            ("half a word is quoted", judged_by("hoy")),
            ("our own words are quoted", judged_by("Files that it wrote")),
            ("nobody answers", once("[[api.turns]]\nwhen = { prompt = \"Else\" }\ntext = \"x\"\n".into())),
            ("a limit does not end", Trap { run: "retries = 0", rest: limited, ..once(use_skill()) }),
            (
                "half of the trials ask for what the API cannot answer",
                Trap { rest: too_much, trials: 4, ..Trap::default() },
            ),
            (
                "the skill is there without the skill",
                Trap {
                    case: &brought,
                    rest: "[thresholds]\nmin_delta = 0.1\n",
                    without: true,
                    ..once(use_skill() + &say("Ahoy!"))
                },
            ),
        ],
        UNMEASURED,
    );
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let exec = |command: &str| format!("[[cases.assert]]\ntype = \"exec\"\ncommand = \"{command}\"\n{AHOY}");
    let (constant, says) = (exec("true"), exec("echo ok; exit 0"));
    let place = format!("files = {{ \".claude/skills/greet/SKILL.md\" = \"x\" }}\n{AHOY}");
    let nowhere = "[[cases.assert]]\ntype = \"not_regex\"\npattern = \"error^\"\n";
    let twice = "[triggers]\nshould = [\"Do it\"]\nshould_not = [\"Do it\"]\n";
    let of = |case| Trap { case, ..once(use_skill() + &say("Ahoy!")) };
    set_all(
        vec![
            ("a grader looks at nothing", of(&constant)),
            ("a grader says the same of everything", of(&says)),
            ("a case brings the skill", of(&place)),
            ("a pattern matches nowhere", of(nowhere)),
            ("an expectation is empty", of("expectations = [\" \"]\n")),
            ("nothing is asked", of("")),
            ("a prompt should and should not trigger", Trap { rest: twice, ..of(AHOY) }),
            (
                "a prompt should and should not trigger, but for white space",
                Trap { rest: "[triggers]\nshould = [\"Do it\"]\nshould_not = [\" Do it \"]\n", ..of(AHOY) },
            ),
            (
                "a rule of permissions is no tool",
                of("[[cases.assert]]\ntype = \"tool_not_used\"\ntool = \"Bash(rm:*)\"\n"),
            ),
            ("the working directory is no file", of("[[cases.assert]]\ntype = \"no_file\"\npath = \".\"\n")),
            ("no difference is too bad", Trap { rest: "[thresholds]\nmin_delta = -1\n", ..of(AHOY) }),
            (
                "no expectation can fail",
                Trap { rest: "[judge]\nmin_pass_rate = 0\n", ..of("expectations = [\"It is friendly.\"]\n") },
            ),
        ],
        REFUSED,
    );
}

/// What is expected must not lie where the model can read it.
#[test]
fn a_trial_sees_no_file_of_its_evaluation() {
    let project = Project::new();
    let home = ".claude/skills/greet";
    let look = bash(&format!("ls {home} {home}/refs > a.txt"));
    let case = "[[cases.assert]]\ntype = \"file\"\npath = \"a.txt\"\npattern = \"SKILL.md\\\\s[^:]*:\\\\sterms.md\\\\s*$\"\n\
                [[cases.assert]]\ntype = \"exec\"\ncommand = \"sh refs/grade.sh\"\nfiles = [\"refs/grade.sh\"]\n";
    let text = format!(
        "[eval]\nskill = \"greet\"\n[run]\ntrials = 1\nwithout = false\n{}{look}{}\n[[cases]]\nid = \"it\"\nprompt = \"Do it\"\n{case}\n\
         [triggers]\nset = \"asked.json\"\n",
        use_skill(),
        say("Ahoy!")
    );
    project.write(&format!("{home}/tries.toml"), &text);
    project.write(&format!("{home}/refs/grade.sh"), "grep -q terms a.txt");
    project.write(&format!("{home}/refs/terms.md"), "Ahoy");
    project.write(&format!("{home}/asked.json"), "[{\"query\": \"Do it now\", \"should_trigger\": true}]");
    let spec = format!("{home}/tries.toml");
    for _ in 0..2 {
        // What was found before is no secret to be read either.
        let said = project.eval(&[&spec, "--out", &format!("{home}/found")]);
        assert_eq!(said.code, Some(GREEN), "{}\n{}", said.stdout, said.stderr);
    }
}
