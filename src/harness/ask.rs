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

/// The beginning of what a program prints when it is started with these arguments.
pub(crate) fn ask(
    pool: &Pool,
    demands: Demands,
    program: &Path,
    args: &[String],
) -> Result<Vec<u8>, RecordError> {
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
    let mut answer = Answer(Vec::new());
    if let Err(error) = capture::watch(&mut supervisor, outlets, watch, &mut answer) {
        supervisor.give_up(room.root());
        return Err(error.into());
    }
    Ok(answer.0)
}

struct Answer(Vec<u8>);

impl Sink for Answer {
    fn stdout(&mut self, bytes: &[u8], _: Instant) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn stderr(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}
