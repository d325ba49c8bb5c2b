//! A stdio MCP server that costs next to nothing: `echo` answers with its text, `records` with as
//! many bytes of structured content as it is asked for.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else { continue };
        let answer = match message["method"].as_str() {
            Some("initialize") => json!({"jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "bench", "version": "1"}}}),
            Some("tools/list") => json!({"jsonrpc": "2.0", "id": id, "result": {"tools": [
                {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
                {"name": "records", "inputSchema": {"type": "object", "properties": {"bytes": {"type": "integer"}}}}]}}),
            Some("tools/call") if message["params"]["name"] == "records" => {
                records(&mut out, id, message["params"]["arguments"]["bytes"].as_u64().unwrap_or(0))?;
                continue;
            }
            Some("tools/call") => json!({"jsonrpc": "2.0", "id": id, "result": {
                "content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}}),
            _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "method not found"}}),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// Written as it is made: the server's own memory is not what is measured.
fn records(out: &mut impl Write, id: &Value, bytes: u64) -> io::Result<()> {
    let record = br#"{"id":123456,"name":"a record like any other","score":0.25,"ok":true}"#;
    write!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{{"records":["#)?;
    for at in 0..bytes / (record.len() as u64 + 1) {
        if at > 0 {
            out.write_all(b",")?;
        }
        out.write_all(record)?;
    }
    out.write_all(b"]}}}\n")?;
    out.flush()
}
