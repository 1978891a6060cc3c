//! Supervisors that are ready for another case: starting one, and making a network for it, costs more than most cases.

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::client::{Containment, Place, SuperviseError, Supervisor};
use super::demands::{Demands, NetworkMode};
use super::view::{Network, View};

/// The supervisors that nobody uses at the moment.
#[derive(Debug)]
pub(crate) struct Pool {
    containment: Containment,
    idle: Mutex<Vec<(View, Supervisor)>>,
    /// Why targets have no processes of their own, once the kernel has refused them.
    no_processes: OnceLock<String>,
}

/// A supervisor that is ready for a case.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub supervisor: Supervisor,
    pub place: Place,
    view: View,
}

impl Pool {
    pub(crate) fn new(containment: Containment) -> Self {
        Self { containment, idle: Mutex::default(), no_processes: OnceLock::new() }
    }

    /// What holds the targets.
    pub(crate) fn containment(&self) -> &Containment {
        &self.containment
    }

    /// A supervisor for a case in this room, into which and around which so much may be written.
    pub(crate) fn prepare(
        &self,
        demands: Demands,
        room: &Path,
        most_bytes: u64,
    ) -> Result<Prepared, SuperviseError> {
        let network = if demands.real_api { Network::Shared } else { Network::Own };
        let is_off = demands.network == NetworkMode::Off && !demands.real_api;
        let prepared = self.prepare_any((!is_off).then_some(network), room, most_bytes)?;
        let isolation = &prepared.place.isolation;
        if demands.network == NetworkMode::Require && !demands.real_api && !isolation.has_network() {
            return Err(SuperviseError::NoNetwork(isolation.reason.clone().unwrap_or_default()));
        }
        if let Some(missing) = isolation.files_missing().filter(|_| demands.files) {
            return Err(SuperviseError::NotIsolated(missing));
        }
        match isolation.missing() {
            Some(missing) if demands.isolation => Err(SuperviseError::NotIsolated(missing)),
            _ => Ok(prepared),
        }
    }

    fn prepare_any(
        &self,
        network: Option<Network>,
        room: &Path,
        most_bytes: u64,
    ) -> Result<Prepared, SuperviseError> {
        let view = match network {
            None => View::Shared,
            Some(network) if self.no_processes.get().is_some() => View::Files(network),
            Some(network) => View::Processes(network),
        };
        if let Some(mut supervisor) = self.take(view)
            && let Ok(place) = supervisor.prepare(room, most_bytes)
        {
            return Ok(self.prepared(supervisor, place, view));
        }
        // There is none, or it is no longer fit for use.
        let mut supervisor = Supervisor::start(&self.containment, view)?;
        match supervisor.prepare(room, most_bytes) {
            Err(SuperviseError::NoProcesses(reason)) if matches!(view, View::Processes(_)) => {
                // Another case may have said so at the same time.
                _ = self.no_processes.set(reason);
                self.prepare_any(network, room, most_bytes)
            }
            place => Ok(self.prepared(supervisor, place?, view)),
        }
    }

    fn prepared(&self, supervisor: Supervisor, mut place: Place, view: View) -> Prepared {
        if matches!(view, View::Files(_)) && place.isolation.processes_reason.is_none() {
            let reason = self.no_processes.get();
            place.isolation.processes_reason =
                reason.map(|reason| format!("the kernel does not allow it: {reason}"));
        }
        Prepared { supervisor, place, view }
    }

    /// Takes back one that has nothing left to do.
    pub(crate) fn give_back(&self, view: View, supervisor: Supervisor) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((view, supervisor));
    }

    fn take(&self, view: View) -> Option<Supervisor> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().position(|(known, _)| *known == view)?;
        Some(idle.swap_remove(at).1)
    }
}

impl Prepared {
    /// What to give it back with.
    pub(crate) fn view(&self) -> View {
        self.view
    }
}
