#!/usr/bin/env python3
"""A server whose tool `nest` answers with `levels` arrays inside each other, as structured content or, with
`text`, as the text of that JSON. Python 3 standard library only.
"""

import json
import sys


def result(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "deep", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": "nest", "inputSchema": {"type": "object"}}]}
    arguments = params["arguments"]
    data = '{"p":' + "[" * arguments["levels"] + "]" * arguments["levels"] + "}"
    if arguments.get("text"):
        return {"content": [{"type": "text", "text": data}]}
    return {"content": [], "structuredContent": json.loads(data)}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result(request["method"], request.get("params"))}
        print(json.dumps(answer), flush=True)
