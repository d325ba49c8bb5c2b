#!/usr/bin/env python3
"""Counts what it does: counter.py FILE

Every call of a tool adds a line with its `what` to FILE, so that a test can see how often something
happened, whoever was told of it. `seconds` is how long a call takes after it has happened.
Python 3 standard library only.
"""

import json
import os
import sys
import time

SCHEMA = {"type": "object", "properties": {"what": {"type": "string"}, "seconds": {"type": "number"}}}


def happen(what):
    line = (what + "\n").encode()
    handle = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(handle, line)
    os.close(handle)


def answer(request):
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "counter", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": "happen", "inputSchema": SCHEMA}]}
    if method == "tools/call":
        given = params.get("arguments", {})
        happen(given.get("what", ""))
        time.sleep(given.get("seconds", 0))
        if given.get("what", "").startswith("fails"):
            return {"content": [{"type": "text", "text": "HTTP 429 Too Many Requests"}], "isError": True}
        if given.get("what") == "late":
            return {"content": [{"type": "text", "text": "upstream timed out"}], "isError": True}
        if given.get("what") == "mean":
            return {"content": [], "structuredContent": {"mean": float("nan")}}
        return {"content": [], "structuredContent": {"happened": given.get("what", "")}}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request)
    if request["method"] == "tools/call" and request["params"]["arguments"].get("what") == "gateway":
        error = {"code": -32001, "message": "Request timed out"}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)
        continue
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    reply.update({"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}})
    print(json.dumps(reply), flush=True)
