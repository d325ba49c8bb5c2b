#!/usr/bin/env python3
"""Counts what it does: counter.py FILE

Every call of a tool adds a line with its `what` to FILE, so that a test can see how often something
happened, whoever was told of it. `seconds` is how long a call takes after it has happened.
Python 3 standard library only.
"""

import json
import os
import signal
import sys
import threading
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
        if given.get("what") == "how often":
            with open(sys.argv[1]) as counted:
                return {"content": [], "structuredContent": {"happened": f"{len(counted.readlines())} times"}}
        if given.get("what", "").startswith("fails"):
            return {"content": [{"type": "text", "text": "HTTP 429 Too Many Requests"}], "isError": True}
        if given.get("what") == "huge":
            # Its run is cancelled while the file is examined.
            path = os.environ["TMPDIR"] + "/out.wav"
            with open(path, "wb") as made:
                made.truncate(6 << 30)
            threading.Timer(0.5, os.kill, (os.getppid(), signal.SIGTERM)).start()
            return {"content": [], "structuredContent": {"output_uri": "file://" + path}}
        late = {
            "late": "upstream timed out",
            "late, node": "connect ETIMEDOUT 192.0.2.1:443",
            "late, limited": "rate limited, then the deadline was over: HTTP 504",
        }
        if given.get("what") in late:
            return {"content": [{"type": "text", "text": late[given["what"]]}], "isError": True}
        if given.get("what") == "late, structured":
            said = {"cause": "Read timed-out"}
            return {"content": [{"type": "text", "text": "failed"}], "structuredContent": said, "isError": True}
        return {"content": [], "structuredContent": {"happened": given.get("what", "")}}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request)
    errors = {
        "gateway": {"code": -32001, "message": "Request timed out"},
        "gateway, elsewhere": {"code": -32001, "message": "Zeitüberschreitung"},
        "gateway, late": {"code": -32603, "message": "x" * 5_000 + " timed out"},
        "gateway, long": {"code": -32603, "message": "x" * 100_000 + " timed out"},
        "gateway, data": {"code": -32603, "message": "failed", "data": {"cause": "request timeout"}},
    }
    what = request["params"]["arguments"].get("what") if request["method"] == "tools/call" else None
    if what and what.startswith("{"):
        # The answer itself, in which @ stands for more than a megabyte.
        print('{"jsonrpc":"2.0","id":%d,' % request["id"] + what[1:].replace("@", "x" * 1_200_000), flush=True)
        continue
    if what == "eager":
        # Answers this call and the next one at once, and reads no more.
        answers = [{"jsonrpc": "2.0", "id": request["id"] + more, "result": result} for more in (0, 1)]
        os.write(1, "".join(json.dumps(answer) + "\n" for answer in answers).encode())
        time.sleep(30)
    if what in errors:
        error = errors[what]
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)
        continue
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    reply.update({"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}})
    print(json.dumps(reply), flush=True)
