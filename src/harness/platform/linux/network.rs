//! A network with nothing in it but loopback.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};
use rustix::thread::CapabilitySet;

use super::system::found;

/// The port of the mock in a network of its own: always the same, so that recordings are.
const PORT: u16 = 8787;

/// Takes from what this process starts the power of root to write where the permissions forbid it and to look into the
/// processes of others, as nobody has it who is moved into a view of its own.
pub(super) fn give_up_override() {
    // Since Linux 6.16 whoever may watch performance reads the environment of others too, as the last two do.
    let powers = [
        CapabilitySet::DAC_OVERRIDE,
        CapabilitySet::SYS_PTRACE,
        CapabilitySet::PERFMON,
        CapabilitySet::SYS_ADMIN,
    ];
    for power in powers {
        // Whoever is not root has nothing to give up, and is refused.
        _ = rustix::thread::remove_capability_from_bounding_set(power);
    }
}

/// Listens where the target looks for the mock.
pub(super) fn listen() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))
}

/// `ip link set lo up`, as the one netlink message that it is.
pub(super) fn raise_loopback() -> io::Result<()> {
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
        let text = found(fs::read_to_string(table)).unwrap_or_default();
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
