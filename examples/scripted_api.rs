//! The scripted API for a client of your own, without any target.
//!
//! `cargo run --example scripted_api`

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use clawgate::testing::{Script, ScriptedApi};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let api = ScriptedApi::start(Script::new().text("Hello."))?;

    // Any client will do; this one is a socket.
    let body = r#"{"model":"m","max_tokens":64,"messages":[{"role":"user","content":"Hi"}]}"#;
    let head = "POST /v1/messages HTTP/1.1\r\nhost: api\r\nx-api-key: none\r\nanthropic-version: 2023-06-01\r\n\
                content-type: application/json\r\nconnection: close\r\n";
    let mut socket = TcpStream::connect(api.base_url().trim_start_matches("http://"))?;
    write!(socket, "{head}content-length: {}\r\n\r\n{body}", body.len())?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    println!("{}", answer.lines().last().unwrap_or_default());

    let served = api.stop();
    println!("{} request, {} turns unused", served.requests.len(), served.unused.len());
    Ok(())
}
