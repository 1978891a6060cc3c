//! The reference target as a live worker: it joins the server at `CLAWS_SOCKET`, works through its phases, asks, obeys
//! its orchestrator and leaves.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{World, complain};
use crate::time::{now, rfc3339};

const NAME: &str = "reference";
const PHASES: [&str; 7] = ["PLAN", "SPAWN", "DEPLOY", "OBSERVE", "HARVEST", "CLEANUP", "REFLECT"];
/// Between two heartbeats, unless `CLAWS_HEARTBEAT_MS` says otherwise.
const BEAT: u64 = 10_000;
/// A silence of 45 seconds for a server whose clock runs twenty times as fast.
const SILENCE: Duration = Duration::from_millis(2250);
const REQUEST: &str = "5f1c6c1e-7f0e-4b44-9d7a-0c6b6c1f2a01";

/// Runs it; the exit code.
pub(super) fn main(world: &World, socket: &str) -> u8 {
    match Worker::join(world, socket).and_then(|mut worker| worker.work()) {
        Ok(()) => 0,
        Err(error) => {
            complain(&format!("{socket}: {error}"));
            1
        }
    }
}

/// Whether the orchestrator has called it off.
enum Told {
    GoOn,
    Abort,
}

struct Worker<'w> {
    world: &'w World,
    lines: BufReader<UnixStream>,
    line: Vec<u8>,
    id: String,
    parent: String,
    asked: u64,
    said: u64,
    visited: Vec<&'static str>,
    entered: Instant,
    began: Instant,
    beat: Duration,
    last_beat: Instant,
    is_paused: bool,
    is_answered: bool,
    is_aborted: bool,
}

impl<'w> Worker<'w> {
    fn join(world: &'w World, socket: &str) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        let beat = world.variable("CLAWS_HEARTBEAT_MS").and_then(|text| text.parse().ok()).unwrap_or(BEAT);
        let mut worker = Self {
            world,
            lines: BufReader::new(stream),
            line: Vec::new(),
            id: String::new(),
            parent: world.variable("CLAWS_PARENT_PEER_ID").unwrap_or_default(),
            asked: 0,
            said: 0,
            visited: Vec::new(),
            entered: Instant::now(),
            began: Instant::now(),
            beat: Duration::from_millis(beat),
            last_beat: Instant::now(),
            is_paused: false,
            is_answered: false,
            is_aborted: false,
        };
        let hello = json!({"cmd": "hello", "protocol": "claws/2", "role": "worker", "peerName": NAME});
        let reply = worker.ask(hello)?;
        reply["peerId"].as_str().unwrap_or_default().clone_into(&mut worker.id);
        Ok(worker)
    }

    fn work(&mut self) -> io::Result<()> {
        if !self.world.is_wrong("worker-no-boot") {
            let data = json!({
                "model": "m-1", "role": "worker", "parent_peer_id": self.parent, "mission_summary": "count the files",
                "capabilities": ["mcp_claws"], "cwd": "/srv/work", "terminal_id": "1",
            });
            self.say("boot", &data)?;
        }
        for phase in PHASES {
            if phase == "DEPLOY" && self.world.is_wrong("worker-skips-phase") {
                continue;
            }
            self.enter(phase)?;
            if phase == "OBSERVE" {
                self.observe()?;
            }
            // A moment to be told something in.
            if phase != "REFLECT" && matches!(self.listen(Duration::from_millis(50))?, Told::Abort) {
                return self.fail();
            }
        }
        let took = self.began.elapsed().as_millis() as u64;
        let data = json!({
            "result": "ok", "summary": "counted", "artifacts": [{"path": "/srv/out.csv", "type": "csv"}],
            "phases_completed": self.visited, "total_tokens": 120, "total_cost_usd": 0.012, "duration_ms": took,
        });
        self.say("complete", &data)?;
        if self.world.is_wrong("worker-completes-twice") {
            self.say("complete", &data)?;
        }
        Ok(())
    }

    /// The work itself: a sign of life, a question, and word of how it goes.
    fn observe(&mut self) -> io::Result<()> {
        self.heartbeat()?;
        if self.world.is_wrong("worker-silent") {
            std::thread::sleep(SILENCE);
        }
        let question = json!({
            "kind": "REQUEST", "severity": "info", "message": "count hidden files too?", "request_id": REQUEST,
            "data": {"request_type": "decision", "options": [{"id": "A", "label": "yes"}, {"id": "B", "label": "no"}]},
        });
        self.say("event", &question)?;
        while !self.is_answered && !self.is_aborted {
            self.listen(self.beat)?;
        }
        if self.is_aborted {
            return Ok(());
        }
        let progress = json!({
            "kind": "PROGRESS", "severity": "info", "message": "half of it",
            "data": {"percent": 0.5, "current_step": 2, "total_steps": 4, "eta_ms": 900},
        });
        self.say("event", &progress)
    }

    /// Ends as one that was called off.
    fn fail(&mut self) -> io::Result<()> {
        self.enter("FAILED")?;
        let data = json!({
            "kind": "ERROR", "severity": "fatal", "message": "aborted by the orchestrator",
            "data": {"error_class": "Aborted", "retryable": true},
        });
        self.say("event", &data)
    }

    fn enter(&mut self, phase: &'static str) -> io::Result<()> {
        let prev = self.visited.last().copied();
        self.visited.push(phase);
        self.entered = Instant::now();
        let visited = self.visited.clone();
        let reason = if phase == "FAILED" { "aborted" } else { "next step" };
        let data =
            json!({"phase": phase, "prev": prev, "transition_reason": reason, "phases_completed": visited});
        self.say("phase", &data)
    }

    fn heartbeat(&mut self) -> io::Result<()> {
        self.last_beat = Instant::now();
        let data = json!({
            "current_phase": self.visited.last(), "time_in_phase_ms": self.entered.elapsed().as_millis() as u64,
            "tokens_used": 40, "cost_usd": 0.004, "last_event_id": null, "active_sub_workers": [],
        });
        self.say("heartbeat", &data)
    }

    fn say(&mut self, fact: &str, data: &Value) -> io::Result<()> {
        self.said += 1;
        let is_forged = fact == "event" && self.world.is_wrong("worker-forges-sender");
        let from = if is_forged { &self.parent } else { &self.id };
        let payload = json!({
            "v": 1, "id": format!("00c1a1e5-0000-4000-8000-{:012x}", self.said), "from_peer": from, "from_name": NAME,
            "ts_published": rfc3339(now()), "schema": format!("worker-{fact}-v1"), "parent_id": self.parent, "data": data,
        });
        let topic = format!("worker.{}.{fact}", self.id);
        let reply = self.ask(json!({"cmd": "publish", "topic": topic, "payload": payload}))?;
        if reply["ok"] != true {
            complain(&format!("{topic} was refused: {}", reply["error"]));
        }
        Ok(())
    }

    fn ask(&mut self, mut request: Value) -> io::Result<Value> {
        self.asked += 1;
        request["id"] = self.asked.into();
        self.lines.get_mut().write_all(format!("{request}\n").as_bytes())?;
        loop {
            let frame = self.frame(None)?.unwrap_or_default();
            if frame["rid"] == self.asked {
                return Ok(frame);
            }
        }
    }

    /// Listens for a while, and longer while it is paused; gives signs of life meanwhile.
    fn listen(&mut self, time: Duration) -> io::Result<Told> {
        let until = Instant::now() + time;
        while !self.is_aborted && (Instant::now() < until || self.is_paused) {
            let wait = self.beat.saturating_sub(self.last_beat.elapsed());
            let wait =
                if self.is_paused { wait } else { wait.min(until.saturating_duration_since(Instant::now())) };
            self.frame(Some(wait.max(Duration::from_millis(1))))?;
            if self.last_beat.elapsed() >= self.beat {
                self.heartbeat()?;
            }
        }
        Ok(if self.is_aborted { Told::Abort } else { Told::GoOn })
    }

    /// The next line of the server; none when the time is up. Commands are taken in as they come.
    fn frame(&mut self, within: Option<Duration>) -> io::Result<Option<Value>> {
        self.lines.get_ref().set_read_timeout(within)?;
        match self.lines.read_until(b'\n', &mut self.line) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server is gone")),
            Ok(_) => {}
            // What came so far stays in the line.
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        let line = std::mem::take(&mut self.line);
        let frame: Value = serde_json::from_slice(&line).unwrap_or_default();
        if frame["push"] == "message" {
            self.obey(&frame);
        }
        Ok(Some(frame))
    }

    fn obey(&mut self, frame: &Value) {
        let topic = frame["topic"].as_str().unwrap_or_default();
        match topic.rsplit('.').next().unwrap_or_default() {
            "approve" | "reject" => self.is_answered = true,
            "pause" => self.is_paused = true,
            "resume" => self.is_paused = false,
            "abort" => self.is_aborted = true,
            "worker" if topic.starts_with("cmd.role.") => self.is_aborted = true,
            _ => {}
        }
    }
}
