"""A tiny MCP server for the tests of the clients. Python 3 standard library only."""

import hashlib
import json
import sys
import threading
import time

LOCK = threading.Lock()
NUMBER, TEXT = {"type": "number"}, {"type": "string"}
TOOLS = {
    "echo": {"text": TEXT},
    "add": {"a": NUMBER, "b": NUMBER},
    "work": {"seconds": NUMBER, "steps": NUMBER},
    "fail": {"message": TEXT},
    "large": {"bytes": NUMBER},
    "measure": {"path": TEXT},
    "write": {"path": TEXT, "text": TEXT},
}


def send(message):
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def data(value):
    return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}


def call(name, given, token):
    if name == "echo":
        return data({"text": given.get("text", "")})
    if name == "add":
        return data({"sum": given["a"] + given["b"]})
    if name == "work":
        steps = given.get("steps", 4)
        # In the root: the tests see that the call is under way.
        with open("started", "w", encoding="utf-8"):
            pass
        for step in range(steps):
            if token is not None:
                params = {"progressToken": token, "progress": step, "total": steps, "message": f"step {step}"}
                send({"method": "notifications/progress", "params": params})
            time.sleep(given["seconds"] / steps)
        return data({"steps": steps})
    if name == "large":
        return data({"letters": "x" * given["bytes"]})
    if name == "measure":
        with open(given["path"], "rb") as file:
            content = file.read()
        return data({"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()})
    if name == "write":
        with open(given["path"], "w", encoding="utf-8") as file:
            file.write(given["text"])
        return {"content": [{"type": "text", "text": "written"}]}
    return {"content": [{"type": "text", "text": given.get("message", "")}], "isError": True}


def answer(request):
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "toy", "version": "1"},
        }
    elif method == "tools/list":
        result = {
            "tools": [
                {"name": name, "inputSchema": {"type": "object", "properties": properties}}
                for name, properties in TOOLS.items()
            ]
        }
    elif method == "tools/call":
        result = call(params["name"], params.get("arguments", {}), params.get("_meta", {}).get("progressToken"))
    else:
        send({"id": request["id"], "error": {"code": -32601, "message": f"no method {method}"}})
        return
    send({"id": request["id"], "result": result})


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        threading.Thread(target=answer, args=(message,), daemon=True).start()
