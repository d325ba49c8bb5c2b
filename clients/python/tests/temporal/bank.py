"""A tiny MCP server that pays: each payment is a line of the file `paid` in the root. Python 3 standard library only."""

import json
import os
import sys
import time

ROOT = os.path.dirname(os.path.abspath(__file__))


def said(text, is_error=False):
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def tried(how):
    """How often this was tried."""
    with open(f"{ROOT}/tried", "a+", encoding="utf-8") as file:
        file.write(how + "\n")
        file.flush()
        file.seek(0)
        return file.read().split("\n").count(how)


def pay(how, token):
    times = tried(how)
    if how == "refused":
        return said("the account is closed", is_error=True)
    if how == "busy" and times == 1:
        return said("HTTP 429 Too Many Requests (Retry-After: 2)", is_error=True)
    with open(f"{ROOT}/paid", "a", encoding="utf-8") as file:
        file.write(how + "\n")
    if how == "dies":
        os._exit(1)
    if how == "hangs" and times == 1:
        params = {"progressToken": token, "progress": 1, "total": 3, "message": "the bank thinks about it"}
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}), flush=True)
        time.sleep(300)
    return said("x" * (700 << 10) if how == "talks much" else "paid")


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    answer = {"error": {"code": -32601, "message": f"no method {method}"}}
    if method == "initialize":
        answer = {
            "result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "bank", "version": "1"},
            }
        }
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"how": {"type": "string"}}}
        answer = {"result": {"tools": [{"name": "pay", "inputSchema": schema}]}}
    elif method == "tools/call":
        answer = {"result": pay(params["arguments"]["how"], params.get("_meta", {}).get("progressToken"))}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
