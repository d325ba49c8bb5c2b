#!/usr/bin/env python3
"""An MCP server whose tool answers as it is told: wordy.py [OUTPUT_SCHEMA]

`answer` is the answer, a JSON-RPC message without its id, in which `@N@C` stands for N times the character C. `stderr` is
written to stderr in the same way. Python 3 standard library only.
"""

import json
import re
import sys

SCHEMA = {"outputSchema": json.loads(sys.argv[1])} if len(sys.argv) > 1 else {}


def filled(value):
    if isinstance(value, str):
        return re.sub(r"@(\d+)@(.)", lambda found: found[2] * int(found[1]), value)
    if isinstance(value, list):
        return [filled(item) for item in value]
    if isinstance(value, dict):
        return {filled(name): filled(item) for name, item in value.items()}
    return value


for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                             "serverInfo": {"name": "wordy", "version": "1"}}}
    elif method == "tools/list":
        answer = {"result": {"tools": [{"name": "say", "inputSchema": {"type": "object"}, **SCHEMA}]}}
    elif method == "tools/call":
        given = message["params"]["arguments"]
        print(filled(given.get("stderr", "")), file=sys.stderr, flush=True)
        answer = filled(given["answer"])
    else:
        continue
    # Characters beyond ASCII are sent as they are: some take more bytes when they are printed.
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}, ensure_ascii=False), flush=True)
