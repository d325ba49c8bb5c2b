"""A stdio MCP server with the tools that the conformance suite calls, as far as oneact can offer them: tools.py"""

import json
import sys
import time

NAMES = ["test_simple_text", "test_error_handling", "test_tool_with_progress", "json_schema_2020_12_tool", "test_logging_tool",
         "test_streaming_elicitation", "test_headers"]


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(params):
    if params["name"] == "test_error_handling":
        return text("This tool intentionally returns an error for testing", isError=True)
    if params["name"] == "test_tool_with_progress":
        token = params.get("_meta", {}).get("progressToken")
        for done in (0, 50, 100):
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": done, "total": 100}})
            time.sleep(0.05)
        return text("done")
    return text("This is a simple text response for testing.")


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = {
        "initialize": lambda _: {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                 "serverInfo": {"name": "tools", "version": "1"}},
        "tools/list": lambda _: {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]},
        "tools/call": call,
    }[request["method"]](request.get("params", {}))
    send({"id": request["id"], "result": result})
