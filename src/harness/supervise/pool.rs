//! Supervisors that are ready for another case: starting one, and making a network for it, costs more than most cases.

use std::net::TcpListener;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::client::{Containment, SuperviseError, Supervisor};
use super::network::{Isolation, NetworkMode};

/// The supervisors that nobody uses at the moment.
#[derive(Debug)]
pub(crate) struct Pool {
    containment: Containment,
    idle: Mutex<Vec<(NetworkMode, Supervisor)>>,
}

/// A supervisor that is ready for a case.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub supervisor: Supervisor,
    /// What keeps the target away from everything else.
    pub isolation: Isolation,
    /// A listener in the target's network, where it has one of its own.
    pub listener: Option<TcpListener>,
    mode: NetworkMode,
}

impl Pool {
    pub(crate) fn new(containment: Containment) -> Self {
        Self { containment, idle: Mutex::default() }
    }

    /// What holds the targets.
    pub(crate) fn containment(&self) -> &Containment {
        &self.containment
    }

    /// A supervisor for a case in this room.
    pub(crate) fn prepare(&self, mode: NetworkMode, room: &Path) -> Result<Prepared, SuperviseError> {
        if let Some(mut supervisor) = self.take(mode)
            && let Ok((isolation, listener)) = supervisor.prepare(mode, room)
        {
            return Ok(Prepared { supervisor, isolation, listener, mode });
        }
        // There is none, or it is no longer fit for use.
        let mut supervisor = Supervisor::start(&self.containment)?;
        let (isolation, listener) = supervisor.prepare(mode, room)?;
        Ok(Prepared { supervisor, isolation, listener, mode })
    }

    /// Takes back one that has nothing left to do.
    pub(crate) fn give_back(&self, mode: NetworkMode, supervisor: Supervisor) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((mode, supervisor));
    }

    fn take(&self, mode: NetworkMode) -> Option<Supervisor> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().position(|(known, _)| *known == mode)?;
        Some(idle.swap_remove(at).1)
    }
}

impl Prepared {
    /// What to give it back with.
    pub(crate) fn mode(&self) -> NetworkMode {
        self.mode
    }
}
