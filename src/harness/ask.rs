//! A question to a program that is no case, such as its version, and errands like it: in a room and held as a case is.

use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::capture::{self, Sink, Watch};
use super::memory;
use super::record::RecordError;
use super::room::{Room, RoomFile};
use super::stop::Stop;
use super::supervise::{Demands, Place, Pool, Start};
use super::timers::Limits;

/// How long a program may take to answer: a bundle takes Node.js seconds to load, and the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(90);
/// More of an answer is not read.
const MOST_BYTES: usize = 4096;

/// The beginning of what a program prints when it is started with these arguments, and how it failed if it did.
pub(crate) fn ask(
    pool: &Pool,
    demands: Demands,
    program: &Path,
    args: &[String],
) -> Result<Answer, RecordError> {
    let errand = Errand { program, args, files: &[], patience: PATIENCE, most_bytes: MOST_BYTES, keep: None };
    run_errand(pool, demands, &errand)
}

/// A program that is run for its answer, or for the files that it leaves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Errand<'e> {
    pub(crate) program: &'e Path,
    pub(crate) args: &'e [String],
    /// What stands in the room from the start.
    pub(crate) files: &'e [RoomFile],
    /// How long it may take.
    pub(crate) patience: Duration,
    /// More of what it prints is not read.
    pub(crate) most_bytes: usize,
    /// Where its working directory is copied to when it ended well.
    pub(crate) keep: Option<&'e Path>,
}

/// Runs a program in a room of its own, held as a case is.
pub(crate) fn run_errand(pool: &Pool, demands: Demands, errand: &Errand<'_>) -> Result<Answer, RecordError> {
    let mut room = Room::new()?;
    let prepared = pool.prepare(demands, room.root(), memory::bytes_for_a_room())?;
    let Place { room: inside, .. } = prepared.place;
    room.furnish(inside, errand.files)?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let env = [
        ("HOME", text(&room.home())),
        ("TMPDIR", text(&room.tmp())),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
    ];
    let start = Start {
        program: text(errand.program),
        args: errand.args.iter().map(Into::into).collect(),
        env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        cwd: room.work().into(),
        ..Start::default()
    };
    let (streams, outlets) = capture::pipes(false)?;
    let mut supervisor = prepared.supervisor;
    supervisor.launch(start, streams, None)?;
    let stop = Stop::new()?;
    let patience = errand.patience;
    let watch = Watch {
        limits: Limits { wall: patience, first_event: patience, idle: patience, after_result: patience },
        until_asked: None,
        most_stdout: errand.most_bytes as u64,
        steps: Vec::new(),
        stdin: None,
        terminal: false,
        relay: None,
        requests: None,
        cancel: stop.as_fd(),
    };
    let mut answer = Answer { most_bytes: errand.most_bytes, ..Answer::default() };
    match capture::watch(&mut supervisor, outlets, watch, &mut answer) {
        Ok(captured) => {
            let exit = captured.exit;
            answer.failure = (exit.code != Some(0)).then(|| exit.to_string());
            answer.code = if exit.timed_out.is_none() { exit.code } else { None };
            if let Some(keep) = errand.keep.filter(|_| answer.failure.is_none()) {
                super::room::copy(&room.place(""), keep)?;
            }
            Ok(answer)
        }
        Err(error) => {
            supervisor.give_up(room.root());
            Err(error.into())
        }
    }
}

/// What a program said to a question.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) stdout: Vec<u8>,
    /// Its beginning.
    pub(crate) stderr: Vec<u8>,
    /// How it ended, if not with exit code 0.
    pub(crate) failure: Option<String>,
    /// Its exit code; none when it was ended.
    pub(crate) code: Option<i32>,
    most_bytes: usize,
}

impl Sink for Answer {
    fn stdout(&mut self, bytes: &[u8], _: Instant) -> io::Result<()> {
        self.stdout.extend_from_slice(bytes);
        Ok(())
    }

    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.most_bytes.saturating_sub(self.stderr.len());
        self.stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(())
    }
}
