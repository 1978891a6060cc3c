//! A target in place of a recording: it runs in its clean room against the scripted API of a case, and whoever started
//! `clawgate play` speaks with it.

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::PlayArgs;
use super::fault::Spoiler;
use crate::cli::CommandError;
use crate::cli::cases::start;
use crate::cli::error::unwritable;
use crate::cli::output::{note, raw_stdout};
use crate::cli::project::{OUT, Project};
use crate::exit_code::Outcome;
use crate::run::{ContractCache, Planned, Relay, Suite, plan};
use crate::text::{nearest, printable};

/// Settings by which the published SDKs tell the CLI who they are and what they can.
const OF_THE_SDK: [&str; 3] = ["CLAUDE_CODE_SDK_", "CLAUDE_AGENT_SDK_", "CLAUDE_CODE_ENTRYPOINT"];

impl PlayArgs {
    /// Runs the target, and ends as it does.
    pub(super) fn run_target(&self, named: &str) -> Result<Outcome, CommandError> {
        let project = Project::open()?;
        let mut planned = self.case(named, &project)?;
        if let [only] = self.arguments.as_slice()
            && ["-v", "--version"].contains(&only.as_str())
        {
            return self.tell_version(&planned.target.version_for(&planned.speaks));
        }
        let out = self.out.clone().unwrap_or_else(|| Path::new(OUT).join("play"));
        planned.place = Some(out.join(format!("conversation-{}", std::process::id())));
        let run = &mut planned.run;
        (run.prompt, run.stdin, run.bare) = (None, None, true);
        run.steps.clear();
        run.args = self.arguments.iter().map(Into::into).collect();
        let of_the_sdk =
            std::env::vars().filter(|(name, _)| OF_THE_SDK.iter().any(|own| name.starts_with(own)));
        run.env.extend(of_the_sdk);
        fs::create_dir_all(&out).map_err(unwritable(&out))?;
        let session = start()?;
        let context = session.context(&out);
        let mut contracts = ContractCache::new();
        let contracts = contracts.get(planned.speaks.contract_at.as_deref())?;
        let mut spoiler = Spoiler::new(raw_stdout(), &self.fault)?;
        // A reader that has left is no reason to stop: the target is told by its standard input.
        let mut show = |bytes: &[u8]| _ = spoiler.push(bytes);
        let relay = Relay { stdin: io::stdin().as_fd().try_clone_to_owned()?, show: &mut show };
        let attempt = context.attempt_with(&planned, contracts, 1, Some(relay));
        let attempt = attempt.map_err(|error| CommandError::Environment(error.to_string()))?;
        spoiler.finish()?;
        drop(spoiler);
        let stderr = attempt.recording.stderr_head().unwrap_or_default();
        _ = io::stderr().write_all(&stderr);
        for failure in &attempt.failures {
            note(&format!("{}: {}", failure.kind, printable(&failure.message)));
        }
        note(&format!(
            "the conversation is in {}; clawgate judge tells what is wrong with it",
            attempt.place.display()
        ));
        Ok(self.end(&attempt.recording.facts))
    }

    /// The one case that is meant.
    fn case(&self, named: &str, project: &Project) -> Result<Planned, CommandError> {
        let target = Arc::new(project.locate(&self.target)?);
        let is_file = Path::new(named).extension().is_some_and(|end| end == "toml" || end == "json");
        let mut suite = if is_file { Suite::default() } else { project.suite()? };
        if is_file {
            suite.add_path(&PathBuf::from(named))?;
        }
        let mut planned = plan(&suite, &[target]);
        let names: Vec<String> = planned.iter().map(|case| case.case.name.clone()).collect();
        planned.retain(|case| is_file || case.case.name == named);
        match planned.len() {
            1 => Ok(planned.remove(0)),
            0 => Err(CommandError::Usage(format!(
                "{named}: neither a recording nor a case that runs on {}; {}",
                self.target,
                meant(named, &names)
            ))),
            _ => {
                let names: Vec<_> = planned.iter().map(|case| case.case.name.as_str()).collect();
                Err(CommandError::Usage(format!("{named}: expected one case, found {}", names.join(", "))))
            }
        }
    }
}

/// What else was probably meant: a case near by, or one of those below the name.
fn meant(named: &str, cases: &[String]) -> String {
    let below: Vec<&str> = cases
        .iter()
        .filter(|case| case.strip_prefix(named).is_some_and(|rest| rest.starts_with('/')))
        .map(String::as_str)
        .collect();
    if !below.is_empty() {
        return format!("choose one of: {}", below.join(", "));
    }
    match nearest(named, cases.iter().map(String::as_str)) {
        Some(case) => format!("did you mean `{case}`?"),
        None => "a scenario file of one has a `contract` and a `[run]`, and `clawgate run --list` lists those that are \
                 built in"
            .to_owned(),
    }
}
