//! The reference target as a worker of the claws event protocol: standard output is the log of a server that it
//! worked for, from its hello to its leave. Its clock is its own, so that an hour takes no time.

use serde_json::{Value, json};

use super::{World, print};

const ORCHESTRATOR: &str = "p_000001";
const WORKER: &str = "p_000002";
const NAME: &str = "reference";
const PHASES: [&str; 7] = ["PLAN", "SPAWN", "DEPLOY", "OBSERVE", "HARVEST", "CLEANUP", "REFLECT"];
/// Milliseconds between two heartbeats.
const BEAT: u64 = 10_000;
/// A while that is too long for a worker to be silent.
const SILENCE: u64 = 45_000;

/// Runs it; the exit code.
pub(super) fn main(world: &World) -> u8 {
    let mut log = Log { world, sequence: 0, millis: 0 };
    log.server("system.peer.joined", &joined(ORCHESTRATOR, "orchestrator", "main"));
    log.server("system.peer.joined", &joined(WORKER, "worker", NAME));
    if !world.is_wrong("worker-no-boot") {
        log.say(
            "boot",
            &json!({
                "model": "m-1", "role": "worker", "parent_peer_id": ORCHESTRATOR, "mission_summary": "count the files",
                "capabilities": ["mcp_claws"], "cwd": "/srv/work", "terminal_id": "1",
            }),
        );
    }
    for (at, phase) in PHASES.iter().enumerate() {
        if world.is_wrong("worker-skips-phase") && *phase == "DEPLOY" {
            continue;
        }
        let done: Vec<&str> = log.visited(at);
        let prev = done.len().checked_sub(2).map(|before| done[before]);
        log.say(
            "phase",
            &json!({"phase": phase, "prev": prev, "transition_reason": "next step", "phases_completed": done}),
        );
        if *phase == "OBSERVE" {
            log.observe();
        }
    }
    let done = log.visited(PHASES.len() - 1);
    log.say(
        "complete",
        &json!({
            "result": "ok", "summary": "counted", "artifacts": [{"path": "/srv/out.csv", "type": "csv"}],
            "phases_completed": done, "total_tokens": 120, "total_cost_usd": 0.012, "duration_ms": log.millis,
        }),
    );
    if world.is_wrong("worker-completes-twice") {
        let done = log.visited(PHASES.len() - 1);
        log.say(
            "complete",
            &json!({"result": "ok", "summary": "again", "artifacts": [], "phases_completed": done}),
        );
    }
    log.server("system.peer.left", &json!({"peerId": WORKER, "role": "worker", "reason": "clean"}));
    0
}

fn joined(peer: &str, role: &str, name: &str) -> Value {
    json!({"peerId": peer, "role": role, "peerName": name, "ts": time(0)})
}

struct Log<'w> {
    world: &'w World,
    sequence: u64,
    millis: u64,
}

impl Log<'_> {
    /// The phases up to this one.
    fn visited(&self, at: usize) -> Vec<&'static str> {
        let skips = self.world.is_wrong("worker-skips-phase");
        PHASES[..=at].iter().copied().filter(|phase| !(skips && *phase == "DEPLOY")).collect()
    }

    /// The work itself: heartbeats, and word of how it goes.
    fn observe(&mut self) {
        let entered = self.millis;
        for beat in 1..=3_u64 {
            self.millis += if beat == 2 && self.world.is_wrong("worker-silent") { SILENCE } else { BEAT };
            let inside = self.millis - entered;
            self.say(
                "heartbeat",
                &json!({
                    "current_phase": "OBSERVE", "time_in_phase_ms": inside, "tokens_used": 40 * beat,
                    "cost_usd": 0.004 * beat as f64, "last_event_id": null, "active_sub_workers": [],
                }),
            );
        }
        self.say(
            "event",
            &json!({
                "kind": "PROGRESS", "severity": "info", "message": "half of it",
                "data": {"percent": 0.5, "current_step": 2, "total_steps": 4, "eta_ms": 900},
            }),
        );
    }

    fn say(&mut self, fact: &str, data: &Value) {
        let from = if self.world.is_wrong("worker-forges-sender") && fact == "event" {
            ORCHESTRATOR
        } else {
            WORKER
        };
        let payload = json!({
            "v": 1, "id": format!("{:08x}-0000-4000-8000-{:012x}", 0x00c1_a1e5, self.sequence), "from_peer": from,
            "from_name": NAME, "ts_published": time(self.millis), "schema": format!("worker-{fact}-v1"),
            "parent_id": ORCHESTRATOR, "data": data,
        });
        self.line(&format!("worker.{WORKER}.{fact}"), WORKER, &payload);
    }

    fn server(&mut self, topic: &str, payload: &Value) {
        self.line(topic, "server", payload);
    }

    fn line(&mut self, topic: &str, from: &str, payload: &Value) {
        let record = json!({
            "topic": topic, "from": from, "ts_server": time(self.millis), "payload": payload,
            "sequence": self.sequence,
        });
        print(&format!("{record}\n"));
        self.sequence += 1;
        self.millis += 1;
    }
}

/// So long after nine o'clock.
fn time(millis: u64) -> String {
    let seconds = millis / 1000;
    format!("2026-06-01T09:{:02}:{:02}.{:03}Z", seconds / 60 % 60, seconds % 60, millis % 1000)
}
