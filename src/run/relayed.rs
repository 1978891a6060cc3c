//! A command line of the user's, recorded against a real API: in a clean room as a case is, or in his own surroundings.

use std::path::PathBuf;
use std::time::Duration;

use super::attempt::{AttemptError, RunContext, facts};
use super::command_line;
use super::plan::Planned;
use crate::harness::mock::Upstreams;
use crate::harness::mock::journal::{Journal, Outcome};
use crate::harness::timers::Limits;
use crate::harness::{Api, CommandLine, Job, RecordError, Recorded};
use crate::judge::{Contracts, Ending, Judge, Judgement, Options};

/// How long it may take where nobody says: a model thinks for minutes.
const WALL: Duration = Duration::from_secs(600);

/// Where the user is: what a command line finds that is not kept apart.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
}

/// What came of it.
pub(crate) struct Relayed {
    pub recorded: Recorded,
    pub judgement: Judgement,
}

impl RunContext<'_> {
    /// Runs a case once against a real API. `own` are the user's surroundings, where it runs in those.
    pub(crate) fn relayed(
        &self,
        planned: &Planned,
        contracts: &Contracts,
        upstreams: &Upstreams,
        own: Option<&Surroundings>,
    ) -> Result<Relayed, AttemptError> {
        let run = &planned.run;
        let wall = self.wall.unwrap_or(WALL);
        let usual = planned.target.choice.target.limits;
        let job = Job {
            files: &run.files,
            terminal: false,
            steps: &[],
            relay: None,
            cwd: None,
            own_cwd: own.map(|own| own.cwd.as_path()),
            stdout_full: false,
            api: Api::Relayed(upstreams),
            mcp: None,
            faults: &[],
            limits: Limits { wall, first_event: wall, idle: wall, after_result: usual.after_result },
            until_asked: None,
            most_stdout: planned.target.choice.target.most_stdout,
            bounds: run.bounds,
            facts: facts(planned, contracts)?,
            place: planned.place.clone().unwrap_or_default(),
            keep_files: false,
        };
        let prepared = self.recorder.prepare(job, |room, api| {
            let line = command_line::build(planned, room, api)?;
            Ok(match own {
                Some(own) => own.around(line),
                None => line,
            })
        })?;
        let mut judge = Judge::of_run(&prepared.facts, contracts, &Options::default())?;
        let recorded = prepared.run(&mut judge)?.complete()?;
        let ending = Ending::of_recording(&recorded.recording).map_err(RecordError::from)?;
        let judgement = judge.finish(ending, &mut |_| {})?;
        Ok(Relayed { recorded, judgement })
    }
}

impl Surroundings {
    /// The same command line among these; of the target's own settings those stay that name the API.
    fn around(&self, mut line: CommandLine) -> CommandLine {
        let (settings, templates) = (std::mem::take(&mut line.env), std::mem::take(&mut line.templates));
        line.public.clear();
        line.env.clone_from(&self.env);
        line.secrets.extend(
            self.env.iter().filter(|(name, _)| Self::is_secret(name)).map(|(_, value)| value.clone()),
        );
        for (name, template) in templates.into_iter().filter(|(_, template)| template.contains("{api}")) {
            if let Some((_, value)) = settings.iter().find(|(known, _)| *known == name) {
                line.set(&name, value, false);
                line.templates.push((name, template));
            }
        }
        line
    }

    /// Whether a setting of the environment is a credential, by its name.
    pub(crate) fn is_secret(name: &str) -> bool {
        const WORDS: [&str; 8] =
            ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE"];
        let name = name.to_ascii_uppercase();
        // Where a socket or a file is, is no secret.
        WORDS.iter().any(|word| name.contains(word))
            && !["_SOCK", "_FILE", "_PATH", "_DIR"].iter().any(|end| name.ends_with(end))
    }
}

/// Why whoever was to be asked could not be, each once.
pub(crate) fn unreached(journal: &Journal) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for entry in journal.requests.iter().filter(|entry| entry.outcome == Outcome::Failed) {
        for finding in &entry.findings {
            if !reasons.contains(&finding.message) {
                reasons.push(finding.message.clone());
            }
        }
    }
    reasons
}
