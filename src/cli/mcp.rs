//! `clawgate mcp`: serves the scripted MCP servers of a scenario, over stdio or streamable HTTP.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::CommandError;
use super::error::unwritable;
use super::output::{data, tell};
use super::project::Project;
use super::typed::whole;
use crate::exit_code::Outcome;
use crate::harness::mcp::{self, Ended, HttpServers, Journal, Server};
use crate::run::scenario::library;
use crate::text::did_you_mean;

/// Serve the scripted MCP servers of a scenario: tools, resources and prompts as data, with faults
///
/// Over stdio it is what an MCP client starts: one server, which ends with its input. With --http all servers of the scenario
/// are served on loopback until Ctrl-C, each at /mcp/NAME; the addresses are lines of standard output. What they have and do
/// stands in [mcp.NAME] of the scenario (clawgate help scenarios); `clawgate run` gives them to the targets of its cases.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("{}\n\n{}", EXAMPLE, mcp::HELP))]
pub(super) struct McpArgs {
    /// A scenario file, TOML or JSON, or the name of a built-in scenario with [mcp.NAME]
    scenario: String,
    /// Which of its servers; needed over stdio where there are several
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Serve over streamable HTTP instead of stdio
    #[arg(long)]
    http: bool,
    /// The port on 127.0.0.1; a free one by default
    #[arg(long, value_name = "N", requires = "http", value_parser = |text: &str| whole(text, 0, u16::MAX))]
    port: Option<u16>,
    /// Misbehave: a fault instead of the scenario's own, of each server
    #[arg(long, value_name = "F")]
    fault: Option<String>,
    /// Misbehave in each call of a tool
    #[arg(long, value_name = "F")]
    tool_fault: Option<String>,
    /// Append what is seen and answered to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
}

const EXAMPLE: &str = "\
A scenario with a server:
  [scenario]
  name = \"mine\"
  [mcp.files]
  [[mcp.files.tools]]
  name = \"read\"
  text = \"Hello from {arguments}.\"
As a client has it: {\"mcpServers\": {\"files\": {\"command\": \"clawgate\", \"args\": [\"mcp\", \"mine.toml\"]}}}";

pub(super) fn run(args: &McpArgs) -> Result<Outcome, CommandError> {
    let with_server = library::SCENARIOS.iter().filter(|(_, text)| text.contains("\n[mcp."));
    let known: Vec<&str> = with_server.map(|(name, _)| *name).collect();
    let scenario = Project::open()?.scenario_like(&args.scenario, &known)?;
    let servers = chosen(scenario.mcp, args)?;
    let journal = match &args.journal {
        Some(path) => Journal::at(path).map_err(unwritable(path))?,
        None => Journal::none(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CommandError::Start)?;
    if args.http {
        return runtime.block_on(over_http(servers, args.port, journal));
    }
    let [server] = <[Server; 1]>::try_from(servers).map_err(|servers| {
        let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
        CommandError::Usage(format!(
            "--server says which of these is served over stdio: {}",
            names.join(", ")
        ))
    })?;
    let ended = runtime.block_on(mcp::serve(server, journal)).map_err(CommandError::Start)?;
    // Nothing that still waits, such as for standard input, keeps the process.
    runtime.shutdown_background();
    if ended == Ended::Broken {
        // Its script wants it to fail as a server does, and that is no result of ours.
        std::process::exit(1);
    }
    Ok(Outcome::Ok)
}

/// The servers that are served, with the faults that were typed.
fn chosen(mut servers: Vec<Server>, args: &McpArgs) -> Result<Vec<Server>, CommandError> {
    servers.retain(|server| !server.is_own());
    if servers.is_empty() {
        return Err(CommandError::Usage(format!("{} has no [mcp.NAME] that could be served", args.scenario)));
    }
    if let Some(name) = &args.server {
        let known: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
        servers.retain(|server| server.name == *name);
        if servers.is_empty() {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(CommandError::Usage(format!("no server `{name}`{}", did_you_mean(name, &known))));
        }
    }
    for server in &mut servers {
        if args.http {
            server.transport = mcp::Transport::Http;
        }
        server.misbehave(args.fault.as_deref(), args.tool_fault.as_deref()).map_err(CommandError::Usage)?;
    }
    Ok(servers)
}

async fn over_http(
    servers: Vec<Server>,
    port: Option<u16>,
    journal: Journal,
) -> Result<Outcome, CommandError> {
    let listen = |kind| {
        signal(kind).map_err(|error| CommandError::Environment(format!("cannot wait for signals: {error}")))
    };
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let port = port.unwrap_or(0);
    let cannot = |error: std::io::Error| {
        CommandError::Environment(format!(
            "cannot listen on 127.0.0.1:{port}: {error}; choose another --port"
        ))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    for server in &servers {
        data(format_args!("http://{address}{}", mcp::path(&server.name)));
    }
    tell(format_args!("Ctrl-C stops"));
    tokio::select! {
        () = Arc::new(HttpServers::new(servers, journal)).serve(listener) => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(Outcome::Ok)
}
