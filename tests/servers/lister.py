"""A server with the tools that its arguments name: a number, or names. Each echoes what it is given.

The name `$LISTER_KEY` stands for the value of that variable. A parameter of the tool `keyed` contains it.
"""

import json
import os
import sys

KEY = os.environ.get("LISTER_KEY", "missing")
NAMES = [KEY if name == "$LISTER_KEY" else name for name in sys.argv[1:]]
if len(NAMES) == 1 and NAMES[0].isdigit():
    NAMES = [f"tool_{number}" for number in range(int(NAMES[0]))]
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
KEYED = {"type": "object", "properties": {f"{KEY}_id": {"type": "string"}}}

for line in sys.stdin:
    request = json.loads(line)
    method, number = request.get("method"), request.get("id")
    if number is None:
        continue
    if method == "initialize":
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "lister", "version": "1"},
        }
    elif method == "tools/list":
        words = f"Echoes its text; the key is {KEY}."
        hints = {"readOnlyHint": True, "openWorldHint": False}
        result = {
            "tools": [
                {
                    "name": name,
                    "description": words,
                    "inputSchema": KEYED if name == "keyed" else SCHEMA,
                    "annotations": hints,
                }
                for name in NAMES
            ]
        }
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": request["params"]["arguments"]["text"]}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "unknown"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
