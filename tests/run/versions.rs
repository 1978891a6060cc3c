//! Versions of a target that come from npm: installed, run and compared as a user types it. The npm is the test's own, so
//! that no registry is needed; `tests/real/run.rs` does the same with the real one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use tempfile::TempDir;

use crate::command::clawgate;
use crate::files::folder_with;
use crate::support::json_lines;

/// Knows the versions 1.0.0 to 1.0.9 of `agent`, without 1.0.2, which was never published, and without 1.0.5, which is
/// listed and cannot be had. Up to 1.0.7 they are scripts. In 1.0.4 a field goes, in 1.0.8 one comes.
const NPM: &str = r#"#!/bin/sh
echo "$*" >>"$(dirname "$0")/npm.log"
if [ "$1" = view ]; then
    echo '["1.0.0","1.0.10","1.0.1","1.0.3","1.0.4","1.0.5","1.0.6","1.0.7","1.0.8","1.0.9"]'
    exit
fi
while [ $# -gt 1 ]; do
    [ "$1" = --prefix ] && prefix=$2
    shift
done
version=${1##*@}
case $version in
1.0.5 | 9.*)
    echo 'npm error code ETARGET' >&2
    exit 1
    ;;
1.0.[0-7]) program=agent/cli.js ;;
*) program=agent-native/bin/agent ;;
esac
case $version in
1.0.[0-3]) fields='"message":"hello","model":"m"' ;;
1.0.[4-7]) fields='"message":"hello"' ;;
*) fields='"message":"hello","iterations":1' ;;
esac
mkdir -p "$(dirname "$prefix/node_modules/$program")"
cat >"$prefix/node_modules/$program" <<END
#!/bin/sh
if [ "\$1" = --version ]; then echo "$version"; else echo '{$fields}'; fi
END
"#;

/// Scripts of the test's own are for the shell.
const NODE: &str = "#!/bin/sh\nexec /bin/sh \"$@\"\n";

const TARGET: &str = r#"
[target]
name = "agent"
description = "Published on an npm of the test's own."
program = "agent"
version = ["--version"]
[env]
PATH = "/usr/bin:/bin"
[[speaks]]
contract = "claw-flat"
prompt = ["-p", "{prompt}"]
[npm]
package = "agent"
[[npm.program]]
versions = "<1.0.8"
path = "cli.js"
[[npm.program]]
package = "agent-native"
path = "bin/agent"
"#;

struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let tools = [("tools/npm", NPM), ("tools/node", NODE)];
        let project =
            folder_with(&[&tools[..], &[("clawgate.toml", ""), ("targets/agent.toml", TARGET)]].concat());
        for (tool, _) in tools {
            fs::set_permissions(project.path().join(tool), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self(project)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// With the project's tools first on the `PATH`, and nothing else that could be a Node.js.
    fn clawgate(&self, args: &[&str]) -> Command {
        let mut command = clawgate(self.path());
        command.args(args).env("CLAWGATE_CACHE", "cache").env("PATH", self.tools());
        command
    }

    /// The tools and a few of the machine's, by name: what a test takes away is not found somewhere else.
    fn tools(&self) -> PathBuf {
        let tools = self.path().join("tools");
        for name in ["sh", "dirname", "mkdir", "cat"] {
            let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
                .map(|folder| folder.join(name))
                .find(|path| path.is_file())
                .unwrap();
            _ = std::os::unix::fs::symlink(found, tools.join(name));
        }
        tools
    }

    /// What npm was asked to install.
    fn asked_of_npm(&self) -> Vec<String> {
        let log = fs::read_to_string(self.path().join("tools/npm.log")).unwrap();
        log.lines().filter(|line| line.starts_with("install ")).map(str::to_owned).collect()
    }

    fn installed(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path().join("cache/targets")) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_matrix_installs_runs_and_narrows_down() {
    let project = Project::new();
    let args =
        ["matrix", "agent@1.0.0..1.0.10", "--sample", "2", "--case", "claw/prompt", "--format", "json"];
    let output = project.clawgate(&args).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let lines = json_lines(output.stdout);
    let told: Vec<String> = lines
        .iter()
        .filter(|line| line["type"] == "change")
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            format!(
                "{} {} {} {} {}",
                text("after"),
                text("since"),
                line["exact"],
                text("kind"),
                text("pointer")
            )
        })
        .collect();
    // Between 1.0.1 and 1.0.3 there is nothing, 1.0.10 comes last, and 1.0.5 cannot be had.
    assert_eq!(
        told,
        ["1.0.3 1.0.4 true field-removed /model", "1.0.7 1.0.8 true field-added /iterations"],
        "{said}"
    );
    assert!(said.contains("1.0.5 is left out: npm has no agent@1.0.5"), "{said}");
    assert!(
        said.contains("installing agent@1.0.0") && said.contains("installing agent-native@1.0.10"),
        "{said}"
    );
    assert!(said.contains("cases on agent@1.0.10"), "{said}");
    for line in project.asked_of_npm() {
        assert!(line.contains("--ignore-scripts") && line.contains("--omit=optional"), "{line}");
    }
    // A second time nothing has to be installed, but for what cannot be.
    let asked = project.asked_of_npm().len();
    project.clawgate(&args).assert().success();
    assert_eq!(project.asked_of_npm().len(), asked + 1);
}

#[test]
fn what_a_matrix_installed_can_be_discarded_again() {
    let project = Project::new();
    project.clawgate(&["target", "install", "agent@1.0.0"]).assert().success();
    let args = ["matrix", "agent@1.0.0..1.0.1", "--case", "claw/prompt", "--discard"];
    project
        .clawgate(&args)
        .assert()
        .success()
        .stdout(contains("nothing changed").and(contains("looked at 2 of 2 versions: 1.0.0, 1.0.1")));
    assert_eq!(project.installed(), ["agent@1.0.0"]);
}

#[test]
fn versions_are_compared_without_being_installed_before() {
    let project = Project::new();
    let output =
        project.clawgate(&["diff", "agent@1.0.3", "agent@1.0.8", "--case", "claw/prompt"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(100), "{shown}");
    assert!(shown.contains("/model is gone") && shown.contains("/iterations is new"), "{shown}");
    assert_eq!(project.installed(), ["agent@1.0.3", "agent@1.0.8"]);
}

#[test]
fn the_newest_release_is_compared_with_the_pinned_one() {
    let project = Project::new();
    let drift = |args: &[&str]| {
        let mut command = project.clawgate(&["drift"]);
        command.args(args).args(["--case", "claw/prompt"]);
        command.assert()
    };
    // Of 1.0.3 a field is gone by 1.0.10, of 1.0.4 nothing is.
    drift(&["agent@1.0.3"])
        .code(100)
        .stdout(contains("/model is gone"))
        .stderr(contains("agent: 1.0.3 is pinned, 1.0.10 is the newest release"));
    drift(&["agent@1.0.4"]).success().stdout(contains("/iterations is new"));
    drift(&["agent@1.0.10"]).success().stdout("agent 1.0.10 is the newest release\n");
    // A reader that never looked at the field reads on; one that needs it does not.
    let reader = |name: &str, field: &str| {
        let text = format!(
            "[consumer]\nname = \"{name}\"\n[[reads]]\nmessage = \"*\"\nrequired = true\n[reads.fields]\n\"{field}\" = \"string\"\n"
        );
        fs::write(project.path().join(format!("{name}.toml")), text).unwrap();
    };
    reader("calm", "/message");
    reader("hurt", "/model");
    drift(&["agent@1.0.3", "--consumer", "calm.toml"]).success().stdout(contains("calm reads on"));
    drift(&["agent@1.0.3", "--consumer", "hurt.toml"]).code(100).stdout(contains("hurt breaks"));
    let output = drift(&["agent@1.0.3", "--format", "json"]).code(100).get_output().stdout.clone();
    let lines = json_lines(output);
    crate::schema::assert_fit(&lines, "diff");
    assert_eq!((&lines[0]["pinned"], &lines[0]["newest"]), (&"1.0.3".into(), &"1.0.10".into()));
}

#[test]
fn the_configuration_says_which_release_is_pinned() {
    let project = Project::new();
    project.clawgate(&["drift", "agent"]).assert().code(2).stderr(contains("Type agent@VERSION, or pin it"));
    project.clawgate(&["drift", "reference@1.0.0"]).assert().code(2).stderr(contains("not published on npm"));
    fs::write(project.path().join("clawgate.toml"), "[profile.default]\ntarget = \"agent@1.0.10\"\n")
        .unwrap();
    project.clawgate(&["drift", "agent"]).assert().success().stdout(contains("1.0.10 is the newest"));
}

#[test]
fn what_cannot_be_installed_says_why_and_leaves_nothing() {
    let project = Project::new();
    let refused = |args: &[&str], code: i32, says: &str| {
        project.clawgate(args).assert().code(code).stderr(contains(says.to_owned()));
    };
    refused(
        &["target", "install", "agent@9.0.0"],
        3,
        "npm has no agent-native@9.0.0; which versions there are: npm view",
    );
    refused(&["diff", "agent@9.0.0", "agent@1.0.0"], 3, "npm has no agent-native@9.0.0");
    refused(&["target", "install", "agent@1"], 2, "`1` is no whole version");
    refused(&["target", "install", "agent"], 2, "such as claude@2.1.197");
    refused(&["target", "install", "reference@1.0.0"], 2, "is not published on npm");
    refused(&["matrix", "agent@1.0.6..1.0.6"], 2, "agent@1.0.6.. goes on to the newest");
    refused(&["matrix", "agent@2.0.0..3.0.0"], 4, "npm has agent@1.0.0..1.0.10");
    refused(&["matrix", "reference@1.0.0..3.0.0"], 2, "name directories of recordings");
    assert_eq!(project.installed(), Vec::<String>::new());
    // Of a pair of which one cannot be had there is nothing to compare.
    refused(
        &["matrix", "agent@1.0.5..1.0.6", "--case", "claw/prompt"],
        3,
        "fewer than two versions could be had",
    );

    fs::remove_file(project.path().join("tools/node")).unwrap();
    refused(
        &["target", "install", "agent@1.0.0"],
        3,
        "is a script for Node.js, and `node` is not on the PATH",
    );
    project.clawgate(&["target", "install", "agent@1.0.9"]).assert().success();
    fs::remove_file(project.path().join("tools/npm")).unwrap();
    refused(&["target", "install", "agent@1.0.8"], 3, "npm does not start");
    refused(&["matrix", "agent@1.0.0..1.0.9"], 3, "npm does not start");
    assert_eq!(project.installed(), ["agent@1.0.6", "agent@1.0.9"]);
}
