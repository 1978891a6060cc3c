//! Every command of the README and of the folders' READMEs, typed as a reader would, with what the page claims of it.
//!
//! A page's `console` blocks are one session in a copy of what we ship. Below `$ COMMAND` stands what it prints: `…` is
//! anything, on a line of its own or within one, and times are any time. `# exits with N` is claimed of the exit code, 0
//! without it. `# needs …` is for what a bare machine does not have: of such commands the arguments are tried, and the
//! README's own are run by the tests that CI has the needed things for.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output};

use assert_cmd::cargo::cargo_bin;
use regex::Regex;
use tempfile::TempDir;

use crate::command::ROOT;
use crate::tree::files_below;

/// The folders whose pages are tested, and which a command may name.
const FOLDERS: [&str; 6] = ["consumers", "evals", "examples", "scenarios", "schemas", "targets"];

/// What a page says to type.
#[derive(Debug, PartialEq)]
struct Typed {
    command: String,
    needs: Option<String>,
    exit: i32,
    prints: Vec<String>,
}

/// The commands of a page, in their order.
fn commands(page: &str) -> Vec<Typed> {
    let (mut found, mut is_console, mut all_need): (Vec<Typed>, _, _) = (Vec::new(), false, None);
    for line in page.lines() {
        if let Some(needed) = line.strip_prefix("<!-- The commands below need ") {
            all_need = needed.strip_suffix(". -->").map(str::to_owned);
        } else if line.starts_with("```") {
            is_console = line == "```console";
        } else if let Some(typed) = line.strip_prefix("$ ").filter(|_| is_console) {
            let (command, comment) = typed.split_once(" # ").unwrap_or((typed, ""));
            let needs = comment.trim().strip_prefix("needs ").map(str::to_owned).or_else(|| all_need.clone());
            let exit = comment.trim().strip_prefix("exits with ").map_or(0, |code| {
                code.split(|other: char| !other.is_ascii_digit()).next().unwrap().parse().unwrap()
            });
            found.push(Typed { command: command.trim().to_owned(), needs, exit, prints: Vec::new() });
        } else if is_console && !line.is_empty() {
            found.last_mut().unwrap().prints.push(line.to_owned());
        }
    }
    found
}

/// What we ship, in a folder of its own, and the programs that may be typed there.
struct Session {
    folder: TempDir,
    at: PathBuf,
    programs: Vec<PathBuf>,
    environment: Vec<(String, String)>,
}

impl Session {
    /// In a copy of the folder that the page stands in.
    fn new(page: &Path) -> Self {
        let folder = TempDir::new().unwrap();
        let shipped = folder.path().join("shipped");
        fs::create_dir(&shipped).unwrap();
        let copied = Process::new("cp").arg("-r").args(FOLDERS).arg(&shipped).current_dir(ROOT).status();
        assert!(copied.unwrap().success());
        for name in ["bin", "dry", "home"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        symlink(cargo_bin("clawgate"), folder.path().join("bin/clawgate")).unwrap();
        // Arguments are read in their order: what is wrong with one is said before the help is given. What comes after `--`
        // is for another program.
        let clawgate = format!(
            "#!/bin/bash\nown=()\nfor word; do [ \"$word\" = -- ] && break; own+=(\"$word\"); done\nexec '{}' \"${{own[@]}}\" --help\n",
            cargo_bin("clawgate").display()
        );
        let others = ["claude", "node", "python"].map(|name| (name, "#!/bin/sh\n"));
        for (name, text) in others.into_iter().chain([("clawgate", clawgate.as_str())]) {
            let draft = folder.path().join(name);
            fs::write(&draft, text).unwrap();
            // By another process: a file that this one has open for writing cannot be run, and its other threads fork.
            let install =
                Process::new("install").arg(&draft).arg(folder.path().join("dry").join(name)).status();
            assert!(install.unwrap().success());
        }
        let at = shipped.join(page.parent().unwrap());
        let programs =
            vec![folder.path().join("bin"), "/usr/local/bin".into(), "/usr/bin".into(), "/bin".into()];
        Self { folder, at, programs, environment: Vec::new() }
    }

    fn shell(&self, programs: &[PathBuf], script: &str) -> Output {
        Process::new("sh")
            .args(["-c", script])
            .current_dir(&self.at)
            .env_clear()
            .env("PATH", std::env::join_paths(programs).unwrap())
            .env("HOME", self.folder.path().join("home"))
            .envs(self.environment.iter().cloned())
            .output()
            .unwrap()
    }

    /// Types a command and compares what the page claims of it.
    fn types(&mut self, typed: &Typed) -> Result<(), String> {
        if let Some(folder) = typed.command.strip_prefix("cd ") {
            self.at = self.at.join(folder).canonicalize().map_err(|error| format!("{folder}: {error}"))?;
            return Ok(());
        }
        let output = self.shell(&self.programs, &format!("{{ {}\n}} 2>&1", typed.command));
        let said = String::from_utf8(output.stdout).unwrap();
        if output.status.code() != Some(typed.exit) {
            return Err(format!("exited with {:?}, not {}:\n{said}", output.status.code(), typed.exit));
        }
        prints(&typed.prints, &said).map_err(|line| format!("does not print {line:?}, but\n{said}"))
    }

    /// Tries the arguments of each clawgate in a command, and runs nothing.
    fn tries(&self, typed: &Typed) -> Result<(), String> {
        // What installs clawgate is tested where there is a release.
        if ["cargo ", "cd ", "npm ", "pip ", "tar "].iter().any(|name| typed.command.starts_with(name)) {
            return Ok(());
        }
        let programs = [&[self.folder.path().join("dry")], &self.programs[1..]].concat();
        let command = typed.command.trim_end_matches(" &");
        let output = self.shell(&programs, command);
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(format!("its arguments are wrong: {said}")) }
    }
}

/// Whether the lines are printed, in this order; else the first that is not.
fn prints(claimed: &[String], said: &str) -> Result<(), String> {
    let time = Regex::new(r"\d+(\.\d+)? (ms|s)\b").unwrap();
    let plain =
        |line: &str| time.replace_all(line, "<time>").split_whitespace().collect::<Vec<_>>().join(" ");
    let said: Vec<String> = said.lines().map(plain).filter(|line| !line.is_empty()).collect();
    let mut rest = said.as_slice();
    let mut may_skip = false;
    for line in claimed {
        if line == "…" {
            may_skip = true;
            continue;
        }
        let pattern = plain(line).split('…').map(regex::escape).collect::<Vec<_>>().join(".*");
        let pattern = Regex::new(&format!("^{pattern}$")).unwrap();
        let at = rest.iter().position(|said| pattern.is_match(said)).filter(|at| may_skip || *at == 0);
        rest = &rest[at.ok_or(line.clone())? + 1..];
        may_skip = false;
    }
    // What is printed beyond the last line is claimed by `…` alone; a page that shows nothing claims nothing.
    if claimed.is_empty() || may_skip || rest.is_empty() {
        Ok(())
    } else {
        Err(format!("nothing after {:?}", claimed.last()))
    }
}

/// The README, and those of the folders.
fn pages() -> Vec<PathBuf> {
    let below = FOLDERS.iter().flat_map(|folder| {
        let files = files_below(&Path::new(ROOT).join(folder));
        files.into_iter().map(move |file| Path::new(folder).join(file))
    });
    std::iter::once(PathBuf::from("README.md"))
        .chain(below.filter(|path| path.ends_with("README.md")))
        .collect()
}

/// Types the commands of a page that this machine can run, and tries the arguments of the others.
fn follow(page: &Path, session: &mut Session, can_run: &dyn Fn(&Typed) -> bool) -> (usize, Vec<String>) {
    let text = fs::read_to_string(Path::new(ROOT).join(page)).unwrap();
    let (mut ran, mut wrong) = (0, Vec::new());
    for typed in commands(&text) {
        let done = if can_run(&typed) {
            ran += 1;
            session.types(&typed)
        } else {
            session.tries(&typed)
        };
        wrong.extend(done.err().map(|why| format!("{}: $ {}\n{why}", page.display(), typed.command)));
    }
    (ran, wrong)
}

/// The README's first two are for a clone; `.ci/newcomer` types them.
fn is_for_a_clone(typed: &Typed) -> bool {
    typed.command.starts_with("cargo ")
}

#[test]
fn what_the_pages_claim_holds() {
    let pages = pages();
    assert!(pages.len() >= 12, "{pages:?}");
    let followed = pages.iter().map(|page| {
        let mut session = Session::new(page);
        follow(page, &mut session, &|typed| typed.needs.is_none() && !is_for_a_clone(typed))
    });
    let (ran, wrong): (Vec<usize>, Vec<Vec<String>>) = followed.unzip();
    let wrong = wrong.concat();
    assert!(
        wrong.is_empty(),
        "{} commands are not as their page says\n\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
    assert!(ran.iter().sum::<usize>() >= 40, "{ran:?}");
}

#[test]
fn as_many_cases_are_built_in_as_the_readme_says() {
    let listed =
        Process::new(cargo_bin("clawgate")).args(["run", "--list"]).current_dir("/").output().unwrap();
    let cases = String::from_utf8(listed.stdout).unwrap().lines().count();
    let text = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let counted = Regex::new(r"(\d+) (cases (on reference|are built in)|passed in \d\d)").unwrap();
    let claims: Vec<&str> =
        counted.captures_iter(&text).map(|found| found.get(1).unwrap().as_str()).collect();
    assert_eq!(claims, vec![cases.to_string(); 3]);
}

/// The page of the agent too, whose own program is Python.
#[test]
#[ignore = "needs python3; .ci/run runs it"]
fn what_needs_python_holds() {
    for page in ["README.md", "examples/agent/README.md"] {
        let page = Path::new(page);
        let can_run = |typed: &Typed| typed.needs.as_deref() == Some("python3");
        let (ran, wrong) = follow(page, &mut Session::new(page), &can_run);
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
        assert!(ran >= 3, "{ran} of {}", page.display());
    }
}

/// What the README promises first: two versions compared, and a pipe judged. The model is a scripted one.
#[test]
#[ignore = "needs CLAWGATE_CLAUDE_BIN, and CLAWGATE_CACHE with the versions; .ci/run runs it"]
fn what_needs_the_claude_cli_holds() {
    let claude = std::env::var("CLAWGATE_CLAUDE_BIN").unwrap();
    let mut session = Session::new(Path::new("README.md"));
    symlink(claude, session.folder.path().join("bin/claude")).unwrap();
    let api = clawgate::testing::ScriptedApi::start(clawgate::testing::Script::new().text("Hi.")).unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    session.environment = vec![
        pair("ANTHROPIC_BASE_URL", &api.base_url()),
        pair("ANTHROPIC_API_KEY", "dummy-key"),
        pair("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        pair("CLAWGATE_CACHE", &std::env::var("CLAWGATE_CACHE").unwrap()),
    ];
    let can_run = |typed: &Typed| matches!(typed.needs.as_deref(), Some("npm" | "the Claude CLI"));
    let (ran, wrong) = follow(Path::new("README.md"), &mut session, &can_run);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(ran, 2);
}

#[test]
fn a_claim_that_does_not_hold_is_noticed() {
    let page = "```console\n$ clawgate judge x # exits with 100; why\nfirst … 0.3 s\n…\n\n$ other\n```\n$ not typed\n";
    let found = commands(page);
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].exit, found[0].prints.len(), found[1].exit), (100, 2, 0));
    let claimed = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let said = "first of all in 17.2 s\nsecond\nthird\n";
    for right in [&["first … 0.3 s", "…"][..], &["…", "third"], &["…", "second", "third"], &[]] {
        assert_eq!(prints(&claimed(right), said), Ok(()), "{right:?}");
    }
    for wrong in [&["second", "…"][..], &["first … 0.3 s"], &["…", "fourth"], &["…", "third", "second"]]
    {
        assert!(prints(&claimed(wrong), said).is_err(), "{wrong:?}");
    }
    let mut session = Session::new(Path::new("README.md"));
    let typed = |command: &str| commands(&format!("```console\n$ {command}\n```\n")).remove(0);
    assert!(session.types(&typed("clawgate contract list # exits with 100")).is_err());
    assert!(session.tries(&typed("clawgate run --no-such-flag # needs npm")).is_err());
    assert!(session.tries(&typed("claude -p hi | clawgate judge --allow nonsense - # needs npm")).is_err());
    assert!(session.tries(&typed("clawgate run --target claw=./path # needs claw")).is_ok());
}
