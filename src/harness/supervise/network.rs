//! A network with nothing in it but loopback.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};
use rustix::process::{getgid, getuid};
use rustix::thread::{CapabilitySet, UnshareFlags, unshare_unsafe};
use serde::{Deserialize, Serialize};

/// Whether a target is kept away from the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Where the kernel allows it.
    #[default]
    Auto,
    /// Always: a case does not run without it.
    Require,
    Off,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Isolation {
    /// `namespace`: the target saw nothing but the mock. `none`: it shared the network of the harness.
    pub network: String,
    /// Why there is none.
    pub reason: Option<String>,
    /// `overlay`: what the target wrote to `/tmp`, `/var/tmp` and `/dev/shm` was its own and is known. `none`: it is not
    /// known.
    #[serde(default)]
    pub files: String,
    /// Why it is not known.
    #[serde(default)]
    pub files_reason: Option<String>,
}

impl Isolation {
    pub(super) fn none(reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        Self { network: "none".into(), files: "none".into(), files_reason: reason.clone(), reason }
    }

    /// A network of its own.
    pub(super) fn namespace() -> Self {
        Self { network: "namespace".into(), reason: None, files: "none".into(), files_reason: None }
    }

    /// Whether the target saw nothing but the mock.
    pub(crate) fn is_complete(&self) -> bool {
        self.network == "namespace"
    }
}

/// The port of the mock in a network of its own: always the same, so that recordings are.
const PORT: u16 = 8787;

/// The user that a target believes to be. Not root: a target must meet the permissions that a user meets.
const USER_INSIDE: u32 = 1000;

/// Moves this process into a network and a view of the file system of its own, and listens there.
pub(super) fn isolate() -> io::Result<TcpListener> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    leave_network()?;
    // Group ids can only be mapped by a process that has given up changing them.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{USER_INSIDE} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{USER_INSIDE} {group} 1"))?;
    raise_loopback()?;
    listen()
}

/// Takes from what this process starts the power of root to write where the permissions forbid it, as nobody has it
/// who is moved into a view of its own.
pub(super) fn give_up_override() {
    // Whoever is not root has nothing to give up, and is refused.
    _ = rustix::thread::remove_capability_from_bounding_set(CapabilitySet::DAC_OVERRIDE);
}

/// Listens where the target looks for the mock.
pub(super) fn listen() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))
}

#[expect(unsafe_code, reason = "the call is only unsafe for the file table, which stays shared here")]
fn leave_network() -> io::Result<()> {
    // SAFETY: neither flag concerns the table of file descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET | UnshareFlags::NEWNS) }?;
    Ok(())
}

/// `ip link set lo up`, as the one netlink message that it is.
fn raise_loopback() -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_WITH_ANSWER: u16 = 1 | 4;
    const LOOPBACK_INDEX: u32 = 1;
    const UP: u32 = 1;
    let mut message = Vec::with_capacity(32);
    // Header: length, type, flags, sequence number, sender.
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_WITH_ANSWER.to_ne_bytes());
    message.extend([0; 8]);
    // Body: family and kind of device, which device, its flags, which of them to change.
    message.extend([0; 4]);
    message.extend(LOOPBACK_INDEX.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    // Protocol 0 of netlink is the one about routes and devices.
    let socket = rustix::net::socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    rustix::net::send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0_u8; 256];
    let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    match answer[..length].get(16..20).and_then(|code| code.try_into().ok()).map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::other("no answer from the kernel")),
    }
}

/// Ports on which somebody listens in this process's network, the mock's aside.
pub(super) fn listening(api_port: u16) -> Vec<u16> {
    const LISTEN: &str = "0A";
    let mut ports = Vec::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        for line in text.lines().skip(1) {
            let mut words = line.split_ascii_whitespace().skip(1);
            let (local, state) = (words.next(), words.nth(1));
            let port = local.and_then(|local| u16::from_str_radix(local.rsplit(':').next()?, 16).ok());
            if let Some(port) = port
                && state == Some(LISTEN)
                && port != api_port
                && !ports.contains(&port)
            {
                ports.push(port);
            }
        }
    }
    ports
}
