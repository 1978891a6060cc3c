//! Messages and descriptors over a socket: one JSON object a line.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::FdFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, SendAncillaryBuffer, SendAncillaryMessage, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::harness::platform;

/// Longer lines are not ours.
const MOST_BYTES: usize = 64 << 20;

/// One end of the conversation.
#[derive(Debug)]
pub(in crate::harness) struct Channel {
    stream: UnixStream,
    unread: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
    ended: bool,
}

impl Channel {
    pub(in crate::harness) fn new(stream: UnixStream) -> Self {
        Self { stream, unread: Vec::new(), descriptors: VecDeque::new(), ended: false }
    }

    /// The two ends of a new conversation.
    pub(in crate::harness) fn pair() -> io::Result<(UnixStream, UnixStream)> {
        UnixStream::pair()
    }

    /// Says something; up to four descriptors go along with the first byte.
    pub(in crate::harness) fn send(
        &self,
        message: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut rest = line.as_slice();
        let mut first = true;
        while !rest.is_empty() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if first && !descriptors.is_empty() {
                ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
            }
            let sent = match sendmsg(&self.stream, &[IoSlice::new(rest)], &mut ancillary, platform::SEND) {
                Err(rustix::io::Errno::INTR) => continue,
                result => result?,
            };
            first = false;
            rest = &rest[sent..];
        }
        Ok(())
    }

    /// Waits for the next message; none when the other end is gone.
    pub(in crate::harness) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        self.receive_until(None)
    }

    /// The same, and no longer than until then.
    pub(in crate::harness) fn receive_until<T: DeserializeOwned>(
        &mut self,
        limit: Option<Instant>,
    ) -> io::Result<Option<T>> {
        loop {
            if let Some(message) = self.next_read()? {
                return Ok(Some(message));
            }
            if self.ended {
                return Ok(None);
            }
            if let Some(limit) = limit {
                let left = limit.saturating_duration_since(Instant::now());
                let left = Timespec::try_from(left).ok();
                match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], left.as_ref()) {
                    Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                    Ok(_) => {}
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(error) => return Err(error.into()),
                }
            }
            self.read()?;
        }
    }

    /// A whole message that has been read already.
    pub(in crate::harness) fn next_read<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(end) = memchr::memchr(b'\n', &self.unread) else { return Ok(None) };
        let message = serde_json::from_slice(&self.unread[..end])?;
        self.unread.drain(..=end);
        Ok(Some(message))
    }

    /// Reads what is there; waits if there is nothing.
    pub(in crate::harness) fn read(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; 64 << 10];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = match recvmsg(
            &self.stream,
            &mut [IoSliceMut::new(&mut bytes)],
            &mut ancillary,
            platform::RECEIVE,
        ) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            // The other end died in the middle of something.
            Err(rustix::io::Errno::CONNRESET) => {
                self.ended = true;
                return Ok(());
            }
            result => result?,
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                for descriptor in descriptors {
                    // Where the call above does not do that.
                    rustix::io::fcntl_setfd(&descriptor, FdFlags::CLOEXEC)?;
                    self.descriptors.push_back(descriptor);
                }
            }
        }
        if received.bytes == 0 {
            self.ended = true;
        }
        self.unread.extend_from_slice(&bytes[..received.bytes]);
        if self.unread.len() > MOST_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
        }
        Ok(())
    }

    /// The next descriptor that came along.
    pub(in crate::harness) fn descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.pop_front()
    }

    pub(in crate::harness) fn close(&self) {
        // Nobody is left to hang up on when it fails.
        _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    /// Whether the other end is gone, also when that has not been read yet.
    pub(in crate::harness) fn is_hung_up(&self) -> bool {
        let mut ends = [PollFd::new(&self.stream, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.ended || poll(&mut ends, Some(&at_once)).is_ok() && ends[0].revents().contains(PollFlags::HUP)
    }

    /// Whether it was read that the other end is gone.
    pub(in crate::harness) fn has_ended(&self) -> bool {
        self.ended
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read as _, Seek as _, Write as _};

    #[test]
    fn messages_of_any_size_arrive_with_their_descriptors() {
        let (near, far) = Channel::pair().unwrap();
        let (near, mut far) = (Channel::new(near), Channel::new(far));
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"through the socket").unwrap();
        file.rewind().unwrap();
        let long = "x".repeat(3 << 20);
        let sender = std::thread::spawn({
            let long = long.clone();
            move || {
                near.send(&long, &[file.as_fd()]).unwrap();
                near.send(&"second", &[]).unwrap();
            }
        });
        assert_eq!(far.receive::<String>().unwrap(), Some(long));
        assert_eq!(far.receive::<String>().unwrap().as_deref(), Some("second"));
        sender.join().unwrap();
        assert_eq!(far.receive::<String>().unwrap(), None);
        let mut text = String::new();
        File::from(far.descriptor().unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "through the socket");
    }
}
