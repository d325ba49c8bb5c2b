"""What good servers do. A mode is a function, run at one moment of an otherwise good server."""

import json
import os
import time

SLEEP = 600
# Name → moment and function.
MODES = {}
KEY = os.environ.get("ROGUE_KEY", "")


def at(moment):
    """The mode named like this function goes wrong at that moment."""
    def keep(function):
        MODES[function.__name__] = (moment, function)
        return function
    return keep


def raw(data):
    data = memoryview(data if isinstance(data, bytes) else data.encode())
    while data:
        data = data[os.write(1, data):]


def line(message):
    return json.dumps({"jsonrpc": "2.0", **message}) + "\n"


def send(message):
    raw(line(message))


def result(request, content):
    return {"id": request["id"], "result": content}


def error(request, code, message):
    return {"id": request["id"], "error": {"code": code, "message": message}}


def text(words):
    return {"content": [{"type": "text", "text": words}]}


GOOD = {"content": [], "structuredContent": {"ok": True}}


def good(request):
    send(result(request, GOOD))


def greeting(request):
    return {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "rogue", "version": "1"}}


def greet(request):
    send(result(request, greeting(request)))


TOOL = {"name": "act", "inputSchema": {"type": "object"}}


def listed(request, tool):
    send(result(request, {"tools": [{**TOOL, **tool}]}))


def note(pid):
    """The start time tells the process from a later one of the same id."""
    with open(f"/proc/{pid}/stat") as stat, open("processes", "a") as processes:
        start = stat.read().rpartition(")")[2].split()[19]
        processes.write(f"{pid} {start}\n")


def say(words):
    os.write(2, (words + "\n").encode())


def idle():
    while True:
        time.sleep(SLEEP)


def heard():
    """Messages; read without a buffer of Python's, which would take what is meant to stay in the pipe."""
    rest = b""
    while more := os.read(0, 65536):
        *whole, rest = (rest + more).split(b"\n")
        yield from map(json.loads, whole)


HEARD = heard()
