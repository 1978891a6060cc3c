//! How fast the trials of an evaluation are judged from disk, and whether memory grows with their number.
//!
//! `cargo bench --bench eval`; the number of trials can be given as an argument, 10000 by default.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark: what fails ends it, and what it measures it prints"
)]

#[expect(dead_code, reason = "the streams are for the other benchmarks")]
mod support;

use std::fs;
use std::path::Path;

use clawgate::internals::eval::spec::Spec;
use clawgate::internals::eval::{
    Baseline, Evaluation, ExecuteError, Executor, Iteration, Options, Request, Stamp, Store, SystemClock,
    plan, regrade,
};
use clawgate::internals::run::Stop;
use serde_json::json;

use support::{asked, cpu_time, peak_megabytes};

/// What one trial printed: a session of some length, in which the skill is used.
fn stdout(control: bool) -> String {
    let mut lines = vec![
        json!({"type": "system", "subtype": "init", "skills": ["greet"], "slash_commands": ["greet"], "model": "m",
               "tools": ["Bash", "Read"], "cwd": "/work", "session_id": "s", "uuid": "u0"}),
    ];
    for turn in 0..8 {
        let id = format!("toolu_{turn}");
        let (tool, input) = match turn {
            0 => ("Skill", json!({"skill": "greet"})),
            _ => {
                ("Bash", json!({"command": format!("grep -rn pattern-{turn} src"), "description": "search"}))
            }
        };
        let call = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        let answer = json!({"type": "tool_result", "tool_use_id": id, "content": "src/lib.rs:1: a line that was found\n".repeat(40)});
        lines.push(json!({"type": "assistant", "message": {"id": format!("m{turn}"), "model": "m", "role": "assistant", "content": [call],
            "usage": {"input_tokens": 1000, "output_tokens": 50}}, "parent_tool_use_id": null, "session_id": "s", "uuid": format!("a{turn}")}));
        lines.push(json!({"type": "user", "message": {"role": "user", "content": [answer]}, "session_id": "s", "uuid": format!("b{turn}")}));
    }
    let said = if control { "clawgate-control-7341" } else { "Ahoy, Ann! See https://example.com." };
    lines.push(json!({"type": "assistant", "message": {"id": "end", "model": "m", "role": "assistant",
        "content": [{"type": "text", "text": said}], "usage": {"input_tokens": 9000, "output_tokens": 60}}, "session_id": "s", "uuid": "c"}));
    lines.push(json!({"type": "result", "subtype": "success", "is_error": false, "result": said, "stop_reason": "end_turn",
        "num_turns": 9, "usage": {"input_tokens": 17000, "output_tokens": 460}, "total_cost_usd": 0.02, "session_id": "s", "uuid": "d"}));
    lines.iter().fold(String::new(), |text, line| text + &line.to_string() + "\n")
}

/// Writes the same recording for every trial.
struct Copier {
    task: String,
    control: String,
}

impl Executor for Copier {
    fn execute(&self, request: &Request<'_>) -> Result<(), ExecuteError> {
        let facts = json!({
            "schema_version": 1, "target": "claude", "target_version": "2.1.197", "scenario": request.id.to_string(),
            "argv": ["claude", "--output-format", "stream-json"], "exit": {"code": 0}, "duration_ms": 9000,
        });
        let text = if request.case.kind.is_control() { &self.control } else { &self.task };
        fs::create_dir_all(request.place).expect("the disk has room");
        fs::write(request.place.join("stdout"), text).expect("the disk has room");
        fs::write(request.place.join("recording.json"), facts.to_string()).expect("the disk has room");
        Ok(())
    }
}

fn begin(folder: &Path, trials: usize) -> (Spec, Store, Iteration) {
    let skill = folder.join(".claude/skills/greet");
    fs::create_dir_all(&skill).expect("a temporary directory");
    fs::write(skill.join("SKILL.md"), "---\nname: greet\ndescription: Greets.\n---\nGreet.\n")
        .expect("a file");
    let path = folder.join(format!("{trials}.toml"));
    let text = format!(
        "[eval]\nskill = \"greet\"\n[run]\ntrials = {trials}\nwithout = false\n[[cases]]\nid = \"ann\"\nprompt = \"Hello\"\n\
         assert = [{{ type = \"contains\", needle = \"Ahoy\" }}, {{ type = \"has_urls\" }}, {{ type = \"regex\", pattern = \"(?i)ahoy\\\\b\" }},\n\
         {{ type = \"tool_order\", tools = [\"Skill\", \"Bash\"] }}, {{ type = \"max_turns\", count = 20 }}]\n"
    );
    fs::write(&path, text).expect("a file");
    let spec = Spec::open(&path).expect("the evaluation is valid");
    let store = Store::new(&folder.join(format!("out-{trials}")), "greet");
    let stamp = Stamp::new(&spec, Vec::new(), None, json!({}));
    let iteration = store.begin(stamp, &plan(&spec), 0).expect("the disk has room");
    (spec, store, iteration)
}

fn main() {
    let trials = asked(10_000);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let copier = Copier { task: stdout(false), control: stdout(true) };
    let stop = Stop::new().expect("a pipe");
    println!("a trial prints {} bytes", copier.task.len());
    for count in [trials / 10, trials] {
        let (spec, store, iteration) = begin(folder.path(), count);
        let options = Options::default();
        let evaluation = Evaluation {
            spec: &spec,
            store: &store,
            iteration: &iteration,
            executor: &copier,
            clock: &SystemClock,
            options: &options,
            stop: &stop,
            baseline: Baseline::Previous,
        };
        let before = cpu_time();
        let report = evaluation.run(&mut |_| {}).expect("the disk has room");
        let ran = cpu_time().saturating_sub(before);
        assert_eq!(report.measured.overall.with_skill.pass_rate.passed, count as u64);
        let before = cpu_time();
        let report = regrade(&spec, &iteration, &mut |_| {}).expect("the recordings are whole");
        let judged = cpu_time().saturating_sub(before);
        assert_eq!(report.measured.overall.with_skill.pass_rate.passed, count as u64);
        println!(
            "{count} trials: judged from disk in {:.2} s of CPU ({:.2} ms each), written, judged and kept in {:.2} s; \
             peak memory so far {:.0} MB",
            judged.as_secs_f64(),
            judged.as_secs_f64() * 1000.0 / count as f64,
            ran.as_secs_f64(),
            peak_megabytes(),
        );
    }
}
