//! Starting the target, and telling apart why it cannot be started.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Resource, Rlimit};

use super::message::Start;
use crate::recording::SpawnError;

/// The three standard streams of the target.
#[derive(Debug)]
pub(super) struct Stdios {
    pub(super) stdin: Stdio,
    pub(super) stdout: Stdio,
    pub(super) stderr: Stdio,
}

/// Starts the target in a session of its own.
pub(super) fn spawn(start: &Start, stdios: Stdios) -> Result<Child, SpawnError> {
    let cwd = Path::new(&start.cwd);
    // The kernel answers a missing directory and a missing program with the same number.
    match fs::metadata(cwd) {
        Ok(folder) if folder.is_dir() => {}
        Ok(_) => return Err(SpawnError::new("bad_cwd", format!("{}: not a directory", cwd.display()))),
        Err(error) => return Err(SpawnError::new("bad_cwd", format!("{}: {error}", cwd.display()))),
    }
    let mut command = Command::new(&start.program);
    command
        .args(&start.args)
        .env_clear()
        .envs(start.env.iter().map(|(name, value)| (name, value)))
        .current_dir(cwd)
        .stdin(stdios.stdin)
        .stdout(stdios.stdout)
        .stderr(stdios.stderr);
    if start.terminal {
        take_terminal(&mut command);
    } else {
        begin_session(&mut command);
    }
    if let Some(most) = start.descriptors {
        limit_descriptors(&mut command, most);
    }
    command.spawn().map_err(|error| explain(start, &error))
}

/// Lets the target have few files open. It could raise a limit that is only advised, as many runtimes do by themselves.
#[expect(unsafe_code, reason = "only the child itself may have the limit")]
fn limit_descriptors(command: &mut Command, most: u64) {
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    let take = move || Ok(rustix::process::setrlimit(Resource::Nofile, limit)?);
    // SAFETY: between fork and exec there is one system call, no allocation and no lock.
    unsafe {
        command.pre_exec(take);
    }
}

/// Makes the target the leader of a session, and so of a process group. It has no terminal there: the user's could be written
/// to, whatever the target's streams are. And many schedulers share time out among sessions: a target whose processes all
/// compute keeps nobody but itself from it, neither the supervisor nor the clock of the harness.
#[expect(unsafe_code, reason = "only the child itself can begin its session")]
fn begin_session(command: &mut Command) {
    let begin = || Ok(rustix::process::setsid().map(drop)?);
    // SAFETY: between fork and exec there is one system call, no allocation and no lock.
    unsafe {
        command.pre_exec(begin);
    }
}

/// Makes the target the leader of a session, and so of a process group, with standard input as its terminal.
#[expect(unsafe_code, reason = "only the child itself can begin its session")]
fn take_terminal(command: &mut Command) {
    let take = || {
        rustix::process::setsid()?;
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        Ok(())
    };
    // SAFETY: between fork and exec there are two system calls, no allocation and no lock.
    unsafe {
        command.pre_exec(take);
    }
}

fn explain(start: &Start, error: &io::Error) -> SpawnError {
    let program = &start.program;
    let path = locate(start);
    let file = path.as_ref().and_then(|path| fs::metadata(path).ok());
    let (kind, message) = match (&file, error.kind()) {
        (None, io::ErrorKind::NotFound) => ("not_found", format!("{program}: {error}")),
        (Some(file), _) if file.is_dir() => ("not_executable", format!("{program}: is a directory")),
        (Some(file), io::ErrorKind::PermissionDenied) if file.permissions().mode() & 0o111 == 0 => {
            ("not_executable", format!("{program}: has no execute permission"))
        }
        (Some(_), io::ErrorKind::NotFound) => {
            let interpreter = path.as_deref().and_then(interpreter);
            let named = interpreter.map_or(String::new(), |named| format!(" {named}"));
            ("bad_interpreter", format!("{program}: its interpreter{named} does not exist"))
        }
        (_, io::ErrorKind::PermissionDenied) => ("not_executable", format!("{program}: {error}")),
        // ENOEXEC: neither a binary for this machine nor a script with a first line that says what runs it.
        _ if error.raw_os_error() == Some(8) => ("bad_format", format!("{program}: {error}")),
        (_, io::ErrorKind::ArgumentListTooLong) => ("too_long", format!("{program}: {error}")),
        _ => ("other", format!("{program}: {error}")),
    };
    SpawnError::new(kind, message)
}

/// The file that a program's name stands for.
fn locate(start: &Start) -> Option<PathBuf> {
    if start.program.contains('/') {
        let path = Path::new(&start.cwd).join(&start.program);
        return path.exists().then_some(path);
    }
    let (_, path) = start.env.iter().find(|(name, _)| name == "PATH")?;
    std::env::split_paths(path).map(|folder| folder.join(&start.program)).find(|path| path.exists())
}

/// What the first line of a script names.
fn interpreter(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut start = Vec::new();
    fs::File::open(path).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).trim().to_owned())
}
