//! A question to a program that is no case, such as its version: in a room and held as a case is.

use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::capture::{self, Sink, Watch};
use super::memory;
use super::record::RecordError;
use super::room::Room;
use super::stop::Stop;
use super::supervise::{Demands, Place, Pool, Start};
use super::timers::Limits;

/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// More of an answer is not read.
const MOST_BYTES: usize = 4096;

/// The beginning of what a program prints when it is started with these arguments, and how it failed if it did.
pub(crate) fn ask(
    pool: &Pool,
    demands: Demands,
    program: &Path,
    args: &[String],
) -> Result<Answer, RecordError> {
    let mut room = Room::new()?;
    let prepared = pool.prepare(demands, room.root(), memory::bytes_for_a_room())?;
    let Place { room: inside, .. } = prepared.place;
    room.furnish(inside, &[])?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let env = [
        ("HOME", text(&room.home())),
        ("TMPDIR", text(&room.tmp())),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
    ];
    let start = Start {
        program: text(program),
        args: args.iter().map(Into::into).collect(),
        env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        cwd: room.work().into(),
        ..Start::default()
    };
    let (streams, outlets) = capture::pipes(false)?;
    let mut supervisor = prepared.supervisor;
    supervisor.launch(start, streams, None)?;
    let stop = Stop::new()?;
    let watch = Watch {
        limits: Limits { wall: PATIENCE, first_event: PATIENCE, idle: PATIENCE, after_result: PATIENCE },
        until_asked: None,
        most_stdout: MOST_BYTES as u64,
        steps: Vec::new(),
        stdin: None,
        terminal: false,
        requests: None,
        cancel: stop.as_fd(),
    };
    let mut answer = Answer::default();
    match capture::watch(&mut supervisor, outlets, watch, &mut answer) {
        Ok(captured) => {
            let exit = captured.exit;
            answer.failure = (exit.code != Some(0)).then(|| exit.to_string());
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
}

impl Sink for Answer {
    fn stdout(&mut self, bytes: &[u8], _: Instant) -> io::Result<()> {
        self.stdout.extend_from_slice(bytes);
        Ok(())
    }

    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = MOST_BYTES.saturating_sub(self.stderr.len());
        self.stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(())
    }
}
