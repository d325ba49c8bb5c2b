//! The least a one-shot client can do: start the server, greet it, call `echo`, print the answer,
//! close, wait. It checks nothing and survives nothing. Usage: client SERVER [ARG]…

use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut argv = env::args().skip(1);
    let mut server = Command::new(argv.next().unwrap_or_default())
        .args(argv)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(mut stdin), Some(stdout)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let mut stdout = BufReader::new(stdout);
    let mut say = |message: Value| stdin.write_all(format!("{message}\n").as_bytes());
    let mut hear = || -> io::Result<Value> {
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    say(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}}))?;
    hear()?;
    say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    say(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "echo", "arguments": {"text": "hello"}}}))?;
    println!("{}", hear()?["result"]);
    drop(stdin);
    server.wait()?;
    Ok(())
}
