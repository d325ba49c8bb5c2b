#!/usr/bin/env python3
"""A stdio MCP server that says who it is: warmth.py [STARTS]

Its tool `say` returns what it was given, its process id, how many calls it has had, its TMPDIR and $GREETING. It can sleep,
die, leave a child behind, or write while nobody has called it. Each start adds a line to the file STARTS, each call one to
STARTS.calls. Python 3 standard library only.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

STARTS = sys.argv[1] if len(sys.argv) > 1 else "starts"
calls = 0


def note(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text + "\n")


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def chatter():
    time.sleep(0.2)
    for _ in range(2000):
        send({"method": "notifications/message", "params": {"level": "info", "data": "x" * 100}})
        sys.stderr.write("y" * 100 + "\n")


def say(given):
    global calls
    calls += 1
    note(STARTS + ".calls", str(given.get("say")))
    if "child" in given:
        subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL, start_new_session=True)
    if "chatter" in given:
        threading.Thread(target=chatter, daemon=True).start()
    time.sleep(given.get("sleep", 0))
    if "die" in given:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"say": given.get("say"), "pid": os.getpid(), "calls": calls, "tmpdir": os.environ.get("TMPDIR"),
            "greeting": os.environ.get("GREETING")}


note(STARTS, str(os.getpid()))
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, number = message["method"], message["id"]
    if method == "initialize":
        send({"id": number, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                       "serverInfo": {"name": "warmth", "version": "1"}}})
    elif method == "tools/list":
        send({"id": number, "result": {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        send({"id": number, "result": {"content": [], "structuredContent": say(message["params"].get("arguments", {}))}})
    else:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})
