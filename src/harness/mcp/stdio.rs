//! A server over stdio: a process that its client starts, one message a line.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::sleep;

use super::fault::ServerFault;
use super::journal::Journal;
use super::script::Server;
use super::session::{Answer, GARBAGE, Reply, Session};
use crate::harness::threads;

/// A longer message is no message.
const LONGEST_MESSAGE: u64 = 64 << 20;

/// How a server over stdio ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Its client has no more to say, or has told it to end.
    Well,
    /// As its script wants it to fail.
    Broken,
}

/// Serves whoever started this process, until standard input ends or the script has it end.
pub(crate) async fn serve(server: Server, journal: Journal) -> io::Result<Ended> {
    let name = server.name.clone();
    let session = Arc::new(Session::new(Arc::new(server), Arc::new(journal)));
    let mut signals =
        Signals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? };
    let end = |how: &str| session.journal.write(&name, json!({"event": "ended", "how": how}));
    session.journal.write(&name, json!({"event": "started"}));
    let fault = session.server.fault;
    match fault {
        Some(ServerFault::Exit) => {
            end("fault");
            return Ok(Ended::Broken);
        }
        Some(ServerFault::LeavesChild) => leave_child(),
        _ => {}
    }
    let mut lines = lines()?;
    let (out, writer) = writer()?;
    let (deaths, mut died) = unbounded_channel::<()>();
    let late = sleep(Duration::from_millis(session.server.start_ms.unwrap_or(0)));
    let never_ends = fault == Some(ServerFault::IgnoresTerm);
    tokio::select! {
        () = late => {}
        how = signals.told(never_ends) => {
            end(how);
            return Ok(Ended::Well);
        }
    }
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) if line.trim_ascii().is_empty() => {}
                Some(line) => {
                    let reply = session.take(&line);
                    let speaker = Speaker { session: Arc::clone(&session), out: out.clone() };
                    let deaths = deaths.clone();
                    if reply.delay_ms == 0 {
                        if !speaker.say(reply) {
                            _ = deaths.send(());
                        }
                    } else {
                        // Others are answered meanwhile.
                        tokio::spawn(async move {
                            sleep(Duration::from_millis(reply.delay_ms)).await;
                            if !speaker.say(reply) {
                                _ = deaths.send(());
                            }
                        });
                    }
                }
                None => {
                    let how = if matches!(fault, Some(ServerFault::Stays | ServerFault::IgnoresTerm)) {
                        signals.told(never_ends).await
                    } else {
                        "input-ended"
                    };
                    end(how);
                    drop(out);
                    // What is still to be written is written, unless nobody reads any more.
                    _ = writer.join();
                    return Ok(Ended::Well);
                }
            },
            _ = died.recv() => {
                end("fault");
                drop(out);
                _ = writer.join();
                return Ok(Ended::Broken);
            }
            how = signals.told(never_ends) => {
                end(how);
                return Ok(Ended::Well);
            }
        }
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Returns when the process is told to end; never where it does not listen.
    async fn told(&mut self, never: bool) -> &'static str {
        loop {
            let how = tokio::select! {
                _ = self.terminate.recv() => "terminated",
                _ = self.interrupt.recv() => "interrupted",
            };
            if !never {
                return how;
            }
        }
    }
}

/// Says what a session answers.
struct Speaker {
    session: Arc<Session>,
    out: Sender<Vec<u8>>,
}

impl Speaker {
    /// Whether the server lives on.
    fn say(&self, reply: Reply) -> bool {
        if let Some(told) = reply.told {
            self.session.journal.write(&self.session.server.name, told);
        }
        // Where nobody reads any more, the end of the input tells so.
        let line = |text: &str| _ = self.out.send(format!("{text}\n").into_bytes());
        match reply.answer {
            Answer::Silence | Answer::Never => true,
            Answer::Say(messages) => {
                if self.session.server.fault == Some(ServerFault::Garbage) {
                    line(GARBAGE);
                }
                for message in &messages {
                    line(&message.to_string());
                }
                true
            }
            Answer::Garbage => {
                line(GARBAGE);
                true
            }
            Answer::Cut(message) => {
                let text = message.to_string();
                _ = self.out.send(text.as_bytes()[..text.len() / 2].to_vec());
                false
            }
            Answer::End => false,
        }
    }
}

/// The lines of standard input. Read by a thread of its own, which the process does not wait for.
fn lines() -> io::Result<UnboundedReceiver<Vec<u8>>> {
    let (sender, lines) = unbounded_channel();
    threads::spawn("stdin", move || {
        let mut stdin = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match stdin.by_ref().take(LONGEST_MESSAGE).read_until(b'\n', &mut line) {
                Ok(read) if read > 0 && sender.send(line).is_ok() => {}
                _ => return,
            }
        }
    })?;
    Ok(lines)
}

/// Writes to standard output on a thread of its own: a client that does not read must not keep a signal from being heard.
fn writer() -> io::Result<(Sender<Vec<u8>>, std::thread::JoinHandle<()>)> {
    let (out, to_write) = channel::<Vec<u8>>();
    let thread = threads::spawn("stdout", move || {
        let mut stdout = io::stdout().lock();
        for bytes in to_write {
            if stdout.write_all(&bytes).and_then(|()| stdout.flush()).is_err() {
                return;
            }
        }
    })?;
    Ok((out, thread))
}

fn leave_child() {
    // Where there is no shell, nothing is left.
    _ = Command::new("/bin/sh")
        .args(["-c", "setsid sleep 600 &"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
