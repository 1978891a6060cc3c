//! A terminal for the target, since some programs behave otherwise before a user than before a pipe.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::pty::{grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, Winsize, tcgetattr, tcsetattr, tcsetwinsize,
};

use super::platform;

/// The size that the target sees.
pub(crate) const COLUMNS: u16 = 80;
pub(crate) const ROWS: u16 = 24;
/// What a user types to say that there is no more.
pub(super) const END_OF_INPUT: u8 = 4;

/// The two ends of a terminal: what a user sees and types on, and what the target holds.
///
/// What is typed is not echoed and what is printed is not changed on its way, so that the recording has the bytes that
/// the target wrote.
pub(super) fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    let screen = openpt(platform::OPEN_TERMINAL)?;
    // Where the call above does not do that.
    rustix::io::fcntl_setfd(&screen, FdFlags::CLOEXEC)?;
    grantpt(&screen)?;
    unlockpt(&screen)?;
    let name = ptsname(&screen, Vec::new())?;
    let line = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    let mut settings = tcgetattr(&line)?;
    settings.output_modes.remove(OutputModes::OPOST);
    settings.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
    tcsetattr(&line, OptionalActions::Now, &settings)?;
    tcsetwinsize(&line, Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 })?;
    rustix::fs::fcntl_setfl(&screen, OFlags::NONBLOCK)?;
    Ok((screen, line))
}
