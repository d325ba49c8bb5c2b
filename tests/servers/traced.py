#!/usr/bin/env python3
"""Tells what its calls carry: traced.py [GATE]

The tool `meta` answers with the `_meta` of its call, and `fails` fails. `waits` reports progress and answers when there is a
file `go` in its working directory. With the file name GATE, it answers nothing before there is such a file.
Python 3 standard library only.
"""

import json
import os
import sys
import time


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def until_there_is(name):
    while not os.path.exists(name):
        time.sleep(0.01)


def call(tool, meta):
    if tool == "waits":
        send({"method": "notifications/progress",
              "params": {"progressToken": meta["progressToken"], "progress": 1, "total": 2, "message": "half"}})
        until_there_is("go")
    text = json.dumps(meta) if tool == "meta" else tool
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"meta": meta}, "isError": tool == "fails"}


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "traced", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ["meta", "fails", "waits"]]}
    return call(params["name"], params.get("_meta") or {})


for name in sys.argv[1:]:
    until_there_is(name)
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        send({"id": message["id"], "result": answer(message["method"], message.get("params") or {})})
