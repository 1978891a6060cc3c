//! What we ship for CI systems, read as they read it and run as they run it: the action, what `init` writes, and the
//! manifests under `examples/ci`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output};

use assert_cmd::cargo::cargo_bin;
use predicates::prelude::*;
use predicates::str::contains;
use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::command::clawgate;

/// The one document of a YAML file. A file that is none, or has a key twice, is refused by the reader.
fn yaml(text: &str) -> Value {
    let documents = Yaml::load_from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(documents.len(), 1, "{text}");
    plain(&documents[0])
}

fn plain(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(value)) => json!(value),
        Yaml::Value(Scalar::Integer(value)) => json!(value),
        Yaml::Value(Scalar::FloatingPoint(value)) => json!(value.into_inner()),
        Yaml::Value(Scalar::String(value)) => json!(value),
        Yaml::Sequence(items) => items.iter().map(plain).collect(),
        Yaml::Mapping(members) => {
            let named =
                members.iter().map(|(key, value)| (key.as_str().unwrap_or("on").to_owned(), plain(value)));
            Value::Object(named.collect::<Map<_, _>>())
        }
        other => panic!("{other:?}"),
    }
}

/// A machine of a CI system: a scratch folder, and a PATH on which `cargo install`, `curl` and `clawgate` are found. What is
/// installed is the clawgate under test, and it runs fourteen cases instead of all.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let real = cargo_bin("clawgate");
        let clawgate = format!(
            "#!/bin/sh\ncase $1 in run) shift; exec '{0}' run claude/http --quiet \"$@\";; *) exec '{0}' \"$@\";; esac\n",
            real.display()
        );
        let cargo = format!(
            "#!/bin/sh\necho \"$@\" >>'{0}/installed'\n[ \"$1\" = install ] || exit 9\n\
             while [ $# -gt 0 ]; do [ \"$1\" = --root ] && mkdir -p \"$2/bin\" && cp '{0}/bin/clawgate' \"$2/bin\"; shift; done\n",
            folder.path().display()
        );
        // Not every machine has the real one.
        let curl = "#!/bin/sh\nfor address; do :; done\nexec cat \"${address#file://}\"\n".to_owned();
        for (name, text) in [("clawgate", clawgate), ("cargo", cargo), ("curl", curl)] {
            // By another process: a file that this one has open for writing cannot be run, and its other threads fork.
            let draft = folder.path().join(name);
            fs::write(&draft, text).unwrap();
            let args = [Path::new("--mode=755"), &draft, &bin.join(name)];
            assert!(Process::new("install").args(args).status().unwrap().success());
        }
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a script as a step of a CI system is run: a shell that stops at the first failure.
    fn step(&self, shell: &[&str], script: &str, environment: &[(String, String)]) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.path().join("bin").display());
        Process::new(shell[0])
            .args(&shell[1..])
            .args(["-c", script])
            .current_dir(self.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.path())
            .envs(environment.iter().cloned())
            .output()
            .unwrap()
    }

    fn passes(&self, shell: &[&str], script: &str, environment: &[(String, String)]) {
        let output = self.step(shell, script, environment);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{script}\n{out}{err}");
    }

    /// Its clawgate, packed as a release is.
    fn archive(&self) -> PathBuf {
        let folder = self.path().join("clawgate-0.1.0-x86_64-unknown-linux-gnu");
        fs::create_dir(&folder).unwrap();
        fs::copy(self.path().join("bin/clawgate"), folder.join("clawgate")).unwrap();
        let mut tar = Process::new("tar");
        tar.args(["-czf", "release.tar.gz"]).arg(folder.file_name().unwrap()).current_dir(self.path());
        assert!(tar.status().unwrap().success());
        self.path().join("release.tar.gz")
    }

    /// What `cargo install` was asked for.
    fn installed(&self) -> Vec<String> {
        fs::read_to_string(self.path().join("installed"))
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// As GitHub runs `shell: bash`, and a runner of GitLab or a pod its commands.
const BASH: &[&str] = &["bash", "--noprofile", "--norc", "-eo", "pipefail"];
const SH: &[&str] = &["sh", "-e"];

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// A text with the expressions of GitHub Actions in it replaced.
fn expressed(text: &str, values: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        let (expression, after) = after.split_once("}}").unwrap();
        let value = values(expression.trim()).unwrap_or_else(|| panic!("unknown expression {expression}"));
        out += before;
        out += &value;
        rest = after;
    }
    out + rest
}

fn environment(step: &Value, values: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let named = step["env"].as_object().cloned().unwrap_or_default();
    named.iter().map(|(name, value)| pair(name, &expressed(value.as_str().unwrap(), values))).collect()
}

fn action() -> Value {
    yaml(include_str!("../../action.yml"))
}

#[test]
fn the_action_has_the_form_that_github_asks_for() {
    let action = action();
    let known = ["name", "description", "branding", "inputs", "outputs", "runs", "author"];
    assert!(action.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{action}");
    assert!(action["name"].is_string() && action["description"].is_string());
    assert_eq!(action["runs"]["using"], "composite");
    for (name, input) in action["inputs"].as_object().unwrap() {
        assert!(input["description"].is_string() && input["default"].is_string(), "{name}");
    }
    for step in action["runs"]["steps"].as_array().unwrap() {
        let Some(script) = step["run"].as_str() else { continue };
        assert_eq!(step["shell"], "bash", "a composite step names its shell");
        // An input that is pasted into a script is code of whoever gives it.
        assert!(!script.contains("${{"), "{script}");
    }
    let declared = |expression: &str| {
        let name = expression.strip_prefix("inputs.")?;
        action["inputs"].get(name).map(|_| String::new())
    };
    let uses =
        action["outputs"].as_object().unwrap().values().map(|output| output["value"].as_str().unwrap());
    uses.for_each(|text| drop(expressed(text, &declared)));
    action["runs"]["steps"].as_array().unwrap().iter().for_each(|step| drop(environment(step, &declared)));
}

/// Runs the action's steps with these inputs, and answers with how the last one ended.
fn act(machine: &Machine, given: &[(&str, &str)]) -> Output {
    let action = action();
    let values = |expression: &str| {
        let name = expression.strip_prefix("inputs.")?;
        let given = given.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        given.or_else(|| action["inputs"][name]["default"].as_str().map(str::to_owned))
    };
    let runner = [
        pair("GITHUB_ACTION_PATH", env!("CARGO_MANIFEST_DIR")),
        pair("RUNNER_TEMP", machine.path().join("temp").to_str().unwrap()),
        pair("RUNNER_OS", "Linux"),
        pair("RUNNER_ARCH", "X64"),
        pair("GITHUB_OUTPUT", machine.path().join("output").to_str().unwrap()),
        pair("GITHUB_STEP_SUMMARY", machine.path().join("summary.md").to_str().unwrap()),
        pair("GITHUB_ACTIONS", "true"),
        pair("CI", "true"),
    ];
    let steps = action["runs"]["steps"].as_array().unwrap();
    let mut last = None;
    for step in steps {
        let Some(script) = step["run"].as_str() else { continue };
        let environment = [&runner[..], &environment(step, &values)].concat();
        let output = machine.step(BASH, script, &environment);
        let fine = output.status.success();
        last = Some(output);
        if !fine {
            break;
        }
    }
    last.unwrap()
}

#[test]
fn the_action_runs_the_gate_and_fails_with_it() {
    let machine = Machine::new();
    let output = act(&machine, &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("14 passed"), "{said}");
    let root =
        format!("install --locked --quiet --features net --path {} --root ", env!("CARGO_MANIFEST_DIR"));
    assert!(machine.installed()[0].starts_with(&root), "{:?}", machine.installed());
    // The folder that was built into is the one that is kept, by a name that changes with what is built.
    let kept = action()["runs"]["steps"][1]["with"]["path"].as_str().map(str::to_owned);
    assert_eq!(kept.as_deref(), Some("${{ runner.temp }}/clawgate"));
    let key = fs::read_to_string(machine.path().join("output")).unwrap();
    assert!(key.starts_with("key=clawgate-Linux-X64-") && key.trim().len() == 87, "{key}");
    let action = action();
    for output in action["outputs"].as_object().unwrap().values() {
        let file = expressed(output["value"].as_str().unwrap(), &|_| Some("clawgate-out".into()));
        assert!(machine.path().join(&file).is_file(), "{file}");
    }
    assert!(fs::read_to_string(machine.path().join("summary.md")).unwrap().contains("14 passed"));

    // A target that misbehaves fails the step, with annotations; every line of the arguments counts.
    let output = act(
        &machine,
        &[
            ("target", "reference+no-result"),
            ("args", "claude/http/429\n--fail-fast\n--jobs 1"),
            ("out", "o"),
        ],
    );
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(100), "{said}");
    assert!(said.contains("::error ") && said.contains("1 failed"), "{said}");
    assert!(machine.path().join("o/report.html").is_file());

    // Neither a target nor an argument is code.
    let evil = "$(touch owned) `touch owned` ; touch owned";
    let output = act(&machine, &[("args", evil), ("target", evil), ("profile", evil)]);
    assert!(!output.status.success());
    assert!(!machine.path().join("owned").exists());
    let output = act(&machine, &[("profile", "nope")]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(machine.installed().len(), 1, "what is in the cache is not built again");
}

#[test]
fn the_action_takes_a_released_archive() {
    let machine = Machine::new();
    let archive = machine.archive();
    let output = act(&machine, &[("archive", &format!("file://{}", archive.display()))]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(machine.installed(), Vec::<String>::new());
    // One that is not there is no reason to build something else.
    let machine = Machine::new();
    assert!(!act(&machine, &[("archive", "file:///no/such.tar.gz")]).status.success());
    assert_eq!(machine.installed(), Vec::<String>::new());
}

/// As the action does it, with the real `cargo install`; quick only where a release build is there already.
#[test]
#[ignore = "needs a release build in CARGO_TARGET_DIR; .ci/run runs it"]
fn the_action_installs_clawgate() {
    let action = action();
    let temp = TempDir::new().unwrap();
    let mut install = Process::new(BASH[0]);
    // What cargo tells this test of the package makes it build again whatever asks for it, as ring does.
    let told = std::env::vars().filter(|(name, _)| name.starts_with("CARGO_"));
    told.filter(|(name, _)| !matches!(name.as_str(), "CARGO_HOME" | "CARGO_TARGET_DIR")).for_each(
        |(name, _)| {
            install.env_remove(name);
        },
    );
    let output = install
        .args(&BASH[1..])
        .args(["-c", action["runs"]["steps"][2]["run"].as_str().unwrap()])
        .env("GITHUB_ACTION_PATH", env!("CARGO_MANIFEST_DIR"))
        .env("RUNNER_TEMP", temp.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let version = Process::new(temp.path().join("clawgate/bin/clawgate")).arg("--version").output().unwrap();
    assert_eq!(version.stdout, concat!("clawgate ", env!("CARGO_PKG_VERSION"), "\n").as_bytes());
}

fn init(machine: &Machine, args: &[&str]) {
    clawgate(machine.path()).arg("init").args(args).assert().success();
}

#[test]
fn the_workflow_of_init_runs_on_github() {
    let machine = Machine::new();
    init(&machine, &["--ci", "github", "--install", "https://git.example/x"]);
    let text = fs::read_to_string(machine.path().join(".github/workflows/clawgate.yml")).unwrap();
    let workflow = yaml(&text);
    assert!(workflow["on"].is_object() && workflow["permissions"]["contents"] == "read");
    let job = &workflow["jobs"]["gate"];
    assert!(job["runs-on"].is_string());
    let actions = [pair("GITHUB_ACTIONS", "true"), pair("CI", "true")];
    let mut ran = 0;
    for step in job["steps"].as_array().unwrap() {
        assert!(step["uses"].is_string() != step["run"].is_string(), "{step}");
        if let Some(script) = step["run"].as_str() {
            machine.passes(BASH, script, &actions);
            ran += 1;
        }
    }
    assert_eq!(ran, 2);
    assert_eq!(machine.installed(), ["install --locked --git https://git.example/x clawgate"]);
    let kept = job["steps"].as_array().unwrap().last().unwrap();
    assert!(machine.path().join(kept["with"]["path"].as_str().unwrap()).join("report.html").is_file());
}

#[test]
fn the_job_of_init_runs_on_gitlab_from_whatever_source_is_named() {
    let machine = Machine::new();
    let source = "--git https://git.example/x.git --tag 'v1: #2' clawgate";
    init(&machine, &["--ci", "gitlab", "--install", source]);
    let job = &yaml(&fs::read_to_string(machine.path().join(".gitlab-ci.yml")).unwrap())["clawgate"];
    for line in job["script"].as_array().unwrap() {
        machine.passes(SH, line.as_str().unwrap(), &[pair("CI", "true"), pair("GITLAB_CI", "true")]);
    }
    assert_eq!(
        machine.installed(),
        ["install --locked --git https://git.example/x.git --tag v1: #2 clawgate"]
    );
    for report in job["artifacts"]["reports"].as_object().unwrap().values() {
        assert!(machine.path().join(report.as_str().unwrap()).is_file(), "{report}");
    }
    for (source, why) in [
        ("--git 'https://x", "a quote is not closed"),
        ("--git https://x ${{ github.event.issue.title }}", "an expression of GitHub Actions"),
        ("a\u{202e}b", "expected one line"),
    ] {
        clawgate(machine.path()).args(["init", "--install", source]).assert().code(2).stderr(contains(why));
    }
    clawgate(machine.path())
        .args(["init", "--install", "a\nb"])
        .assert()
        .code(2)
        .stderr(contains("expected one line").and(contains("--git URL clawgate")));
}

#[test]
fn the_workflow_of_init_takes_a_released_archive() {
    let machine = Machine::new();
    let archive = format!("file://{}", machine.archive().display());
    init(&machine, &["--ci", "gitlab", "--install", &archive]);
    // Where `cargo install` puts programs; a runner has it on its PATH.
    let home = machine.path().join("cargo-home");
    fs::create_dir_all(home.join("bin")).unwrap();
    let job = &yaml(&fs::read_to_string(machine.path().join(".gitlab-ci.yml")).unwrap())["clawgate"];
    machine.passes(SH, job["script"][0].as_str().unwrap(), &[pair("CARGO_HOME", home.to_str().unwrap())]);
    assert!(home.join("bin/clawgate").is_file());
    assert_eq!(machine.installed(), Vec::<String>::new());
}

/// clawgate need not be in a registry, and a workflow that asks one for it would fail.
#[test]
fn without_a_source_there_is_no_workflow() {
    let machine = Machine::new();
    let told = clawgate(machine.path()).arg("init").assert().success();
    told.stdout(contains("No workflow was written").and(contains("--install SOURCE")));
    assert!(machine.path().join("clawgate.toml").is_file() && !machine.path().join(".github").exists());
    clawgate(machine.path())
        .args(["init", "--ci", "github"])
        .assert()
        .code(2)
        .stderr(contains("--ci needs --install SOURCE"));
}

#[test]
fn nothing_that_init_is_told_to_install_becomes_code() {
    for (source, word) in [
        ("clawgate; touch owned", "clawgate;"),
        ("$(touch owned)", "$(touch"),
        ("`touch owned` x", "`touch"),
        ("clawgate && touch owned", "&&"),
        ("\"' ; touch owned ; '\"", "' ; touch owned ; '"),
        ("clawgate # - run: touch owned", "#"),
    ] {
        for (system, file) in [("github", ".github/workflows/clawgate.yml"), ("gitlab", ".gitlab-ci.yml")] {
            let machine = Machine::new();
            init(&machine, &["--ci", system, "--install", source]);
            let written = yaml(&fs::read_to_string(machine.path().join(file)).unwrap());
            let script = match system {
                "github" => &written["jobs"]["gate"]["steps"][1]["run"],
                _ => &written["clawgate"]["script"][0],
            };
            let script = script.as_str().unwrap();
            assert_eq!(script.trim_end().lines().count(), 1, "{script}");
            machine.passes(if system == "github" { BASH } else { SH }, script, &[]);
            assert!(!machine.path().join("owned").exists(), "{source} was obeyed on {system}");
            assert!(machine.installed()[0].contains(word), "{:?}", machine.installed());
        }
    }
}

#[test]
fn the_newest_release_is_watched_on_a_schedule() {
    let machine = Machine::new();
    let args = ["--install", "https://git.example/x", "--drift", "claude@2.1.325"];
    init(&machine, &[&args[..], &["--ci", "github"]].concat());
    let written = fs::read_to_string(machine.path().join(".github/workflows/clawgate-drift.yml")).unwrap();
    let workflow = yaml(&written);
    assert!(workflow["on"]["schedule"][0]["cron"].is_string(), "{written}");
    let steps = workflow["jobs"]["drift"]["steps"].as_array().unwrap();
    let last = steps.last().unwrap()["run"].as_str().unwrap();
    assert_eq!(last.trim(), "clawgate drift claude@2.1.325 --format markdown >> \"$GITHUB_STEP_SUMMARY\"");
    let machine = Machine::new();
    init(&machine, &[&args[..], &["--ci", "gitlab"]].concat());
    let pipeline = yaml(&fs::read_to_string(machine.path().join(".gitlab-ci.yml")).unwrap());
    assert!(pipeline["clawgate"].is_object() && pipeline["clawgate-drift"]["rules"].is_array());
}

#[test]
fn actions_are_pinned_and_get_no_credentials() {
    let starter = include_str!("../../src/cli/starter/github.yml");
    let matrix = include_str!("../../examples/ci/github-matrix.yml");
    let mut pinned = 0;
    let drift = include_str!("../../src/cli/starter/github-drift.yml");
    for text in [starter, drift, matrix, include_str!("../../action.yml")] {
        for line in text.lines().filter(|line| line.contains("uses:")) {
            let (_, commit) = line.split_once('@').unwrap();
            let (commit, version) =
                commit.split_once(" # v").unwrap_or_else(|| panic!("no version is told: {line}"));
            assert!(commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{line}");
            assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{line}");
            pinned += 1;
        }
    }
    assert_eq!(pinned, 9);
    let filled = |text: &str| yaml(&text.replace("{install}", "x"));
    for workflow in [filled(starter), filled(drift), yaml(matrix)] {
        assert_eq!(workflow["permissions"], json!({"contents": "read"}));
        for job in workflow["jobs"].as_object().unwrap().values() {
            let steps = job["steps"].as_array().unwrap().iter();
            for step in steps.filter(|step| {
                step["uses"].as_str().is_some_and(|uses| uses.starts_with("actions/checkout@"))
            }) {
                assert_eq!(step["with"]["persist-credentials"], false, "{step}");
            }
        }
    }
}

fn merged(machine: &Machine, script: &str) {
    let script = script.replace("/shared/", "");
    machine.passes(SH, &script, &[]);
    let kept = machine.path().join("clawgate-merged/events.ndjson");
    let last = fs::read_to_string(kept).unwrap().lines().last().unwrap().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&last).unwrap()["passed"], 14, "{last}");
}

#[test]
fn the_github_matrix_runs_in_parts_and_is_merged() {
    let workflow = yaml(include_str!("../../examples/ci/github-matrix.yml"));
    let machine = Machine::new();
    let shard = &workflow["jobs"]["shard"];
    let parts = shard["strategy"]["matrix"]["part"].as_array().unwrap();
    for (index, part) in parts.iter().enumerate() {
        let values = |expression: &str| match expression {
            "strategy.job-index" => Some(index.to_string()),
            "strategy.job-total" => Some(parts.len().to_string()),
            "matrix.part" => Some(part.to_string()),
            _ => None,
        };
        for step in shard["steps"].as_array().unwrap() {
            if let Some(script) = step["run"].as_str() {
                let set = [environment(&workflow, &values), environment(step, &values)].concat();
                machine.passes(BASH, &expressed(script, &values), &set);
            } else if step["uses"].as_str().unwrap().starts_with("actions/upload-artifact@") {
                // What one machine puts up another takes down, each artifact in a folder of its name.
                let name = expressed(step["with"]["name"].as_str().unwrap(), &values);
                let to = machine.path().join("shards").join(name);
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::rename(machine.path().join(step["with"]["path"].as_str().unwrap()), to).unwrap();
            }
        }
    }
    let merge = &workflow["jobs"]["merge"];
    assert!(merge["needs"] == "shard" && merge["if"] == "always()");
    let steps = merge["steps"].as_array().unwrap();
    let fetched = steps.iter().find_map(|step| step["with"]["path"].as_str());
    assert_eq!(fetched, Some("shards"));
    steps.iter().filter_map(|step| step["run"].as_str()).for_each(|script| {
        if script.starts_with("clawgate") {
            merged(&machine, script);
        }
    });
    assert!(machine.path().join("clawgate-merged/report.html").is_file());
    let source = "install --locked --git https://git.example/clawgate clawgate";
    assert_eq!(machine.installed(), [source; 3]);
}

#[test]
fn the_parallel_jobs_of_gitlab_are_merged() {
    let pipeline = yaml(include_str!("../../examples/ci/gitlab.yml"));
    let machine = Machine::new();
    let total = pipeline["shard"]["parallel"].as_u64().unwrap();
    for index in 1..=total {
        let node = [
            pair("CI_NODE_INDEX", &index.to_string()),
            pair("CI_NODE_TOTAL", &total.to_string()),
            pair("CLAWGATE_SOURCE", pipeline["variables"]["CLAWGATE_SOURCE"].as_str().unwrap()),
        ];
        for line in pipeline["shard"]["script"].as_array().unwrap() {
            machine.passes(SH, line.as_str().unwrap(), &node);
        }
    }
    let line = pipeline["merge"]["script"].as_array().unwrap().last().unwrap();
    merged(&machine, line.as_str().unwrap());
    for report in pipeline["merge"]["artifacts"]["reports"].as_object().unwrap().values() {
        assert!(machine.path().join(report.as_str().unwrap()).is_file(), "{report}");
    }
    let source = "install --locked --git https://git.example/clawgate clawgate";
    assert_eq!(machine.installed(), [source; 3]);
}

#[test]
fn the_pods_of_kubernetes_are_merged() {
    let text = include_str!("../../examples/ci/kubernetes.yaml");
    let job = yaml(text);
    let machine = Machine::new();
    let spec = &job["spec"];
    assert_eq!((&job["kind"], &spec["completionMode"]), (&json!("Job"), &json!("Indexed")));
    let container = &spec["template"]["spec"]["containers"][0];
    assert_eq!(container["command"], json!(["sh", "-c"]));
    let script = container["args"][0].as_str().unwrap().replace("/shared/", "");
    let set: Vec<(String, String)> = container["env"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| pair(variable["name"].as_str().unwrap(), variable["value"].as_str().unwrap()))
        .collect();
    let completions = spec["completions"].as_u64().unwrap();
    assert_eq!(set, [pair("JOB_COMPLETIONS", &completions.to_string())]);
    let pod = |script: &str, index: u64| {
        let index = pair("JOB_COMPLETION_INDEX", &index.to_string());
        machine.step(&["sh"], script, &[&set[..], &[index]].concat()).status.code()
    };
    for index in 0..completions {
        assert_eq!(pod(&script, index), Some(0));
    }
    let command = text.lines().find(|line| line.starts_with("#   clawgate merge")).unwrap();
    merged(&machine, command.trim_start_matches(['#', ' ']));
    // A pod with failures is done; one that could not run is not, and a part that is no part is refused.
    fs::remove_dir_all(machine.path().join("shards")).unwrap();
    let failing = script.replace("clawgate run", "clawgate run --target reference+no-result");
    assert_eq!(pod(&failing, 0), Some(0));
    assert_eq!(pod(&script.replace("clawgate run", "clawgate run --target claw=./missing"), 0), Some(3));
    assert_eq!(pod(&script, completions), Some(2));
    assert_eq!(pod(&script, u64::MAX), Some(2));
}

#[test]
fn the_files_of_examples_are_all_tested_here() {
    let mut names: Vec<PathBuf> =
        fs::read_dir("examples/ci").unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let expected = ["README.md", "github-matrix.yml", "gitlab.yml", "kubernetes.yaml"];
    assert_eq!(names, expected.map(|name| Path::new("examples/ci").join(name)));
}
