#!/usr/bin/env python3
"""Answers a call as the call says: sayer.py

The argument `result` or `error` is the JSON text of the answer, which may contain `NaN`; `stderr` is printed before the answer.
Each call adds a line to $CALLS. It is killed at its start while a file `down` is beside $CALLS. Python 3 standard library only.
"""

import json
import os
import signal
import sys

SCHEMA = {"type": "object"}


def send(body, request):
    sys.stdout.write('{"jsonrpc":"2.0","id":%d,%s}\n' % (request["id"], body))
    sys.stdout.flush()


if os.path.exists(os.path.join(os.path.dirname(os.environ["CALLS"]), "down")):
    os.kill(os.getpid(), signal.SIGKILL)
print("Error: a cause from before the call", file=sys.stderr, flush=True)
for line in sys.stdin:
    request = json.loads(line)
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        send('"result":' + json.dumps({"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                                       "serverInfo": {"name": "sayer", "version": "1"}}), request)
    elif method == "tools/list":
        send('"result":' + json.dumps({"tools": [{"name": "say", "inputSchema": SCHEMA}]}), request)
    elif method == "tools/call":
        with open(os.environ["CALLS"], "a") as calls:
            calls.write("call\n")
        arguments = params["arguments"]
        print(arguments.get("stderr", ""), file=sys.stderr, flush=True)
        kind = "error" if "error" in arguments else "result"
        send(f'"{kind}":{arguments[kind]}', request)
    elif "id" in request:
        send('"error":{"code":-32601,"message":"no such method"}', request)
