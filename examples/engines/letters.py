"""A post office for the recipes of docs/engines.md: letters.py SECONDS

`send` adds a line to the file `sent` of the working directory, and takes SECONDS. It fails if an address has no @.
While there is a file `closed`, the server dies before it is ready. It needs only Python's standard library.
"""

import json
import os
import signal
import sys
import time

TEXTS = {"to": {"type": "string"}, "text": {"type": "string"}}
TOOL = {"name": "send", "description": "Send a letter.", "inputSchema": {"type": "object", "properties": TEXTS}}


def send(to, text):
    if "@" not in to:
        return {"content": [{"type": "text", "text": f"nobody lives at {to}"}], "isError": True}
    with open("sent", "a", encoding="utf-8") as sent:
        sent.write(json.dumps([to, text]) + "\n")
    time.sleep(float(sys.argv[1]))
    return {"content": [], "structuredContent": {"to": to, "text": text}}


if os.path.exists("closed"):
    os.kill(os.getpid(), signal.SIGKILL)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    match message["method"]:
        case "initialize":
            hello = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            answer["result"] = hello | {"serverInfo": {"name": "letters", "version": "1.0.0"}}
        case "tools/list":
            answer["result"] = {"tools": [TOOL]}
        case "tools/call":
            answer["result"] = send(**message["params"]["arguments"])
        case _:
            answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
