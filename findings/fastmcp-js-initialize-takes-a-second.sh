#!/usr/bin/env bash
# fastmcp 4.20.16 (npm), a server with one tool over `httpStream`.
#
# An answer to `initialize` costs a server nothing, so one expects it within milliseconds, as `tools/list` is answered. Each
# `initialize` takes a second: 1.0 s for each of five clients, on an idle server, with a bare request. `tools/list` in the same
# session takes milliseconds. A client that makes one call a session, as command lines do, waits for that second each time.
#
# Seen with Node.js 20.20.2: five times 1.0 s for `initialize`, at most 0.04 s for `tools/list`.
set -euo pipefail
work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
npm install --no-save --no-audit --no-fund --loglevel=error fastmcp@4.20.16 zod@4 >/dev/null
cat > server.mjs <<'JS'
import { FastMCP } from "fastmcp";
import { z } from "zod";
const server = new FastMCP({ name: "one-tool", version: "1.0.0" });
server.addTool({ name: "say", description: "Says it.", parameters: z.object({}), execute: async () => "said" });
await server.start({ transportType: "httpStream", httpStream: { port: 18431, host: "127.0.0.1" } });
JS
node server.mjs >server.log 2>&1 &
server=$!
cat > client.py <<'PY'
import json, time, urllib.request
def post(message, session=None):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if session:
        headers["Mcp-Session-Id"] = session
    request = urllib.request.Request("http://127.0.0.1:18431/mcp", json.dumps(message).encode(), headers)
    begun = time.monotonic()
    with urllib.request.urlopen(request) as answer:
        text = answer.read().decode()
    return time.monotonic() - begun, answer.headers.get("Mcp-Session-Id"), text
hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}
for _ in range(100):
    try:
        post(hello)
        break
    except OSError:
        time.sleep(0.1)
slow, quick = [], []
for _ in range(5):
    elapsed, session, _ = post(hello)
    slow.append(elapsed)
    post({"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
    elapsed, _, text = post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, session)
    assert "say" in text, text
    quick.append(elapsed)
print("initialize", [round(each, 2) for each in slow], "tools/list", [round(each, 3) for each in quick])
assert min(slow) >= 0.9, "initialize is quick now"
assert max(quick) < 0.5, "tools/list is slow, too"
PY
python3 client.py
echo 'As stated: initialize takes a second, tools/list does not.'
