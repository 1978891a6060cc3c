//! The scripted API for a client of your own, without any target.
//!
//! `cargo run --example scripted_api`

#![expect(clippy::print_stdout, reason = "an example shows something")]

use clawgate::internals::harness::mock::{MockApi, Options, Script};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let api = MockApi::start(Script::new().text("Hello."), Options::default()).await?;

    // Any client will do; this one is a socket.
    let body = r#"{"model":"m","max_tokens":64,"messages":[{"role":"user","content":"Hi"}]}"#;
    let head = "POST /v1/messages HTTP/1.1\r\nhost: api\r\nx-api-key: none\r\nanthropic-version: 2023-06-01\r\n\
                content-type: application/json\r\nconnection: close\r\n";
    let mut socket = tokio::net::TcpStream::connect(api.address()).await?;
    socket.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await?;
    println!("{}", answer.lines().last().unwrap_or_default());

    let journal = api.stop().await;
    println!("{} request, {} turns unused", journal.requests.len(), journal.unused.len());
    Ok(())
}
