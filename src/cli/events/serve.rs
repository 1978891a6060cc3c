//! `clawgate events serve`: a claws server that keeps the document, to test workers against.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use tokio::signal::unix::{SignalKind, signal};

use super::super::error::{unreadable, unwritable};
use super::super::output::tell;
use super::super::{CommandError, complain};
use super::command::Started;
use crate::document;
use crate::exit_code::Outcome;
use crate::harness::claws::{ClawsServer, Orchestrator, Orders, PROBES, Served, ServerOptions, read_orders};
use crate::text::{printable, trouble};

/// Serve the claws event protocol as its document says, to test workers against it
///
/// The log of the session goes to standard output, one record a line, as judge, timeline and watch read it. With a
/// command after `--` that worker is started, an orchestrator joins that carries out the --orders, and all of it ends
/// with the worker; without one the server runs until Ctrl-C.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The worker finds the socket in CLAWS_SOCKET and the id of its orchestrator in CLAWS_PARENT_PEER_ID.

Orders are a TOML file:
  [[order]]
  on = \"worker.*.event\"              # waits for the next message on such a topic,
  where = { kind = \"REQUEST\" }       # with this in its data
  send = \"approve\"                   # and answers that worker on cmd.<its id>.approve
  data = { payload = { chosen = \"B\" } }
An order without `send` only waits; `within_ms` says how long (30000).

Exit codes: 0 the worker ended with 0, nothing was refused to it and every order was carried out; 100 otherwise;
2 the orders cannot be read; 3 the socket or the worker cannot be started.")]
pub(super) struct ServeArgs {
    /// The Unix socket to listen on [default: one of its own, for the worker alone]
    #[arg(long, value_name = "PATH", required_unless_present = "command")]
    socket: Option<PathBuf>,
    /// Write the log there instead of to standard output
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// What the orchestrator waits for and sends
    #[arg(long, value_name = "FILE", requires = "command")]
    orders: Option<PathBuf>,
    /// How many seconds of the server's clock a second is, so that silence need not be waited for
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = super::speed)]
    speed: f64,
    /// Do one thing wrong, named after the probe that finds it; may be given several times
    #[arg(long, value_name = "PROBE", value_parser = PossibleValuesParser::new(PROBES))]
    wrong: Vec<String>,
    /// The worker and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &ServeArgs) -> Result<Outcome, CommandError> {
    let orders = match &args.orders {
        Some(path) => {
            let text = document::read_to_string(path).map_err(unreadable(path))?;
            read_orders(&path.display().to_string(), &text)?
        }
        None => Orders::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(CommandError::Start)?.block_on(serve(args, &orders))
}

async fn serve(args: &ServeArgs, orders: &Orders) -> Result<Outcome, CommandError> {
    let listen = |kind| {
        signal(kind).map_err(|error| CommandError::Environment(format!("cannot wait for signals: {error}")))
    };
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let own = tempfile::tempdir().map_err(CommandError::Start)?;
    let socket = args.socket.clone().unwrap_or_else(|| own.path().join("claws.sock"));
    let mut log: Box<dyn Write + Send> = match &args.log {
        Some(path) => Box::new(File::create(path).map_err(unwritable(path))?),
        None => Box::new(io::stdout()),
    };
    let options = ServerOptions { socket: socket.clone(), speed: args.speed, wrong: args.wrong.clone() };
    // Each record at once: whoever follows the log sees what happens when it happens.
    let server =
        ClawsServer::start(&options, move |record| writeln!(log, "{record}").and_then(|()| log.flush()));
    let server = server.map_err(|error| {
        CommandError::Environment(format!(
            "cannot listen on {}: {}; choose another --socket",
            socket.display(),
            trouble(&socket, &error)
        ))
    })?;
    let work = async {
        if args.command.is_empty() {
            tell(format_args!("listening on {}", socket.display()));
            return std::future::pending().await;
        }
        drive(args, orders, &socket).await
    };
    let (mut outcome, is_interrupted) = tokio::select! {
        outcome = work => (outcome?, false),
        _ = interrupt.recv() => (Outcome::Ok, true),
        _ = terminate.recv() => (Outcome::Ok, true),
    };
    let Served { refused, trouble } = server.stop().await;
    if let Some(trouble) = trouble {
        return Err(CommandError::Environment(format!("the log cannot be written: {trouble}")));
    }
    for what in &refused {
        tell(format_args!("refused: {}", printable(what)));
    }
    outcome.add(Outcome::of_findings(!refused.is_empty() && !args.command.is_empty()));
    if is_interrupted && !args.command.is_empty() {
        return Err(CommandError::Interrupted);
    }
    Ok(outcome)
}

/// Starts the worker, and drives it by the orders until it ends.
async fn drive(args: &ServeArgs, orders: &Orders, socket: &std::path::Path) -> Result<Outcome, CommandError> {
    let environment = CommandError::Environment;
    let mut orchestrator = Orchestrator::join(socket).await.map_err(environment)?;
    let env =
        [("CLAWS_SOCKET", socket.display().to_string()), ("CLAWS_PARENT_PEER_ID", orchestrator.id.clone())];
    let mut worker = Started::start(&args.command, &env)?;
    let mut outcome = Outcome::Ok;
    let carried = tokio::select! {
        biased;
        carried = orchestrator.carry_out(orders, false) => carried,
        _ = worker.wait() => Ok(()),
    };
    // What the worker said last may answer the last orders.
    let carried = match (carried, worker.ended()) {
        (Ok(()), Some(_)) => orchestrator.carry_out(orders, true).await,
        (carried, _) => carried,
    };
    if let Err(complaint) = carried {
        complain(&complaint);
        drop(worker);
        // The log tells how it went on.
        let _ = orchestrator.leave().await;
        return Ok(Outcome::Findings);
    }
    let status = worker.wait().await;
    if !status.success() {
        complain(&format!("{} ended with {status}", worker.name()));
        outcome.add(Outcome::Findings);
    }
    if let Err(trouble) = orchestrator.leave().await {
        complain(&trouble);
        outcome.add(Outcome::Findings);
    }
    Ok(outcome)
}
