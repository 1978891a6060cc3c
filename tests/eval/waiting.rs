//! Rate limits are waited for until they end, by a clock that a test can turn.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use clawgate::internals::eval::spec::Spec;
use clawgate::internals::eval::{
    Baseline, Clock, Evaluation, ExecuteError, Executor, Options, Report, Request, Stamp, Store, plan,
};
use clawgate::internals::run::Stop;
use clawgate::recording::Facts;
use serde_json::json;

use super::project::Project;

/// A clock that jumps to where somebody waits for.
struct Turned(Mutex<(u64, Vec<u64>)>);

impl Clock for Turned {
    fn now_ms(&self) -> u64 {
        self.0.lock().unwrap().0
    }

    fn wait_until(&self, ms: u64, _: &Stop) {
        let mut state = self.0.lock().unwrap();
        state.0 = state.0.max(ms);
        state.1.push(ms);
    }
}

/// A target that is limited until some time, and answers afterwards.
struct Limited<'c> {
    clock: &'c Turned,
    resets_at: u64,
    asked: Mutex<Vec<(String, u64)>>,
}

impl Executor for Limited<'_> {
    fn execute(&self, request: &Request<'_>) -> Result<(), ExecuteError> {
        let now = self.clock.now_ms();
        self.asked.lock().unwrap().push((request.id.to_string(), now));
        let is_limited = now < self.resets_at * 1000;
        let text = if request.case.kind.is_control() { "clawgate-control-7341" } else { "Ahoy" };
        let init = json!({"type": "system", "subtype": "init", "skills": ["greet"], "slash_commands": [], "model": "m"});
        let lines = if is_limited {
            vec![
                init,
                json!({"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": self.resets_at}}),
                json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": 429, "result": "limit"}),
            ]
        } else {
            let said = json!({"type": "text", "text": text});
            let call = json!({"type": "tool_use", "id": "1", "name": "Skill", "input": {"skill": "greet"}});
            let back = json!({"type": "tool_result", "tool_use_id": "1", "content": "ok"});
            vec![
                init,
                json!({"type": "assistant", "message": {"id": "a", "model": "m", "content": [call]}}),
                json!({"type": "user", "message": {"role": "user", "content": [back]}}),
                json!({"type": "assistant", "message": {"id": "b", "model": "m", "content": [said]}}),
                json!({"type": "result", "subtype": "success", "is_error": false, "result": text, "stop_reason": "end_turn",
                       "num_turns": 1, "usage": {"input_tokens": 3, "output_tokens": 2}, "total_cost_usd": 0.5}),
            ]
        };
        let stdout = lines.iter().fold(String::new(), |text, line| text + &line.to_string() + "\n");
        let facts = json!({
            "schema_version": 1, "target": "claude", "target_version": "2.1.197", "scenario": "x",
            "argv": ["claude", "--output-format", "stream-json"], "exit": {"code": i32::from(is_limited)}, "duration_ms": 1000,
        });
        Facts::parse(facts.to_string().as_bytes()).unwrap();
        fs::create_dir_all(request.place).unwrap();
        fs::write(request.place.join("stdout"), stdout).unwrap();
        fs::write(request.place.join("recording.json"), facts.to_string()).unwrap();
        Ok(())
    }
}

fn evaluate(project: &Project, clock: &Turned, target: &Limited<'_>, options: &Options) -> Report {
    let path = project.write(
        "e.toml",
        "[eval]\nskill = \"greet\"\n[run]\ntrials = 3\nwithout = false\n[[cases]]\nid = \"ann\"\nprompt = \"Say hello\"\n\
         [[cases.assert]]\ntype = \"contains\"\nneedle = \"Ahoy\"\n",
    );
    let spec = Spec::open(&path).unwrap();
    let store = Store::new(&project.path().join("out"), "greet");
    let stamp = Stamp::new(&spec, Vec::new(), None, json!({}));
    let begun = store.resume(&stamp).or_else(|_| store.begin(stamp, &plan(&spec), 0));
    let stop = Stop::new().unwrap();
    let evaluation = Evaluation {
        spec: &spec,
        store: &store,
        iteration: &begun.unwrap(),
        executor: target,
        clock,
        options,
        stop: &stop,
        baseline: Baseline::Previous,
    };
    evaluation.run(&mut |_| {}).unwrap()
}

fn one_at_a_time() -> Options {
    Options { jobs: 1, ..Options::default() }
}

#[test]
fn a_limit_is_waited_for_until_it_ends() {
    let project = Project::new();
    let clock = Turned(Mutex::new((1_000_000, Vec::new())));
    let target = Limited { clock: &clock, resets_at: 2_500, asked: Mutex::default() };
    let report = evaluate(&project, &clock, &target, &one_at_a_time());
    assert_eq!(report.conclusion.exit_code, 0, "{report:?}");
    assert_eq!(report.measured.overall.with_skill.pass_rate.passed, 3);
    // The first attempt met the limit; everything else came after its end, and no later.
    let waits = clock.0.lock().unwrap().1.clone();
    assert_eq!(waits, [2_500_000]);
    let asked = target.asked.lock().unwrap();
    assert_eq!(asked.iter().filter(|(_, now)| *now < 2_500_000).count(), 1);
    assert_eq!(asked.len(), 6);
    assert!((report.measured.spent.cost_usd - 2.5).abs() < 1e-9, "{:?}", report.measured.spent);
}

#[test]
fn a_limit_that_lasts_too_long_is_left_for_later() {
    let project = Project::new();
    let clock = Turned(Mutex::new((1_000_000, Vec::new())));
    let target = Limited { clock: &clock, resets_at: 100_000, asked: Mutex::default() };
    let report = evaluate(&project, &clock, &target, &one_at_a_time());
    assert_eq!((report.conclusion.exit_code, report.conclusion.complete), (3, false));
    assert!(
        report.conclusion.halted.as_deref().unwrap().contains("until 1970-01-02T03:46:40Z"),
        "{:?}",
        report.conclusion.halted
    );
    assert_eq!(target.asked.lock().unwrap().len(), 1, "nobody knocks at a closed door");
    // Later it goes on.
    clock.0.lock().unwrap().0 = 100_000_000;
    let report = evaluate(&project, &clock, &target, &one_at_a_time());
    assert_eq!(
        (report.conclusion.exit_code, report.conclusion.complete, report.subject.number),
        (0, true, 1),
        "{report:?}"
    );
    assert!(Path::new(&report.subject.iteration).join("control-pass/without_skill/run-1/attempt-2").is_dir());
}

#[test]
fn trials_under_way_are_reckoned_with_before_they_say_what_they_cost() {
    // Two controls and three trials at $0.5 each: four fit into $2.4, however many may run at a time.
    for jobs in [1, 4, 64] {
        let project = Project::new();
        let clock = Turned(Mutex::new((1_000_000, Vec::new())));
        let target = Limited { clock: &clock, resets_at: 0, asked: Mutex::default() };
        let mut options = one_at_a_time();
        (options.jobs, options.max_total_cost_usd) = (jobs, Some(2.4));
        let report = evaluate(&project, &clock, &target, &options);
        assert!(report.measured.spent.cost_usd <= 2.4, "{jobs} at a time: {:?}", report.measured.spent);
        assert_eq!(target.asked.lock().unwrap().len(), 4, "{jobs} at a time: nothing is left that fits");
        assert_eq!((report.conclusion.exit_code, report.conclusion.complete), (3, false));
        let halted = report.conclusion.halted.unwrap();
        assert!(halted.ends_with("$2.0000 of $2.4 are spent, and another may cost $0.5000"), "{halted}");
        // With more money it goes on where it was.
        options.max_total_cost_usd = Some(2.5);
        let report = evaluate(&project, &clock, &target, &options);
        assert_eq!(
            (report.conclusion.exit_code, report.conclusion.complete, report.subject.number),
            (0, true, 1),
            "{report:?}"
        );
        assert_eq!(target.asked.lock().unwrap().len(), 5);
    }
}
