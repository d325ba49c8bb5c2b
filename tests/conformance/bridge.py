"""A stdio MCP server that is only the way to another one: `bridge.py URL`.

Every message on stdin becomes an HTTP POST of the streamable HTTP transport, every message of the
answer a line on stdout. The headers that this transport wants are read off the messages, and nothing
in a message is changed, so that whatever the other side finds in a body, the client has written.
One exchange at a time: the client has but one request under way.
"""

import http.client
import json
import sys
from urllib.parse import urlsplit

VERSION = "io.modelcontextprotocol/protocolVersion"

url = urlsplit(sys.argv[1])
# Of the older era: what the answer to `initialize` has settled.
session = version = None


def headers(message):
    """What the transport says beside the body (MCP, Transports: Streamable HTTP)."""
    yield "Content-Type", "application/json"
    yield "Accept", "application/json, text/event-stream"
    params = message.get("params") or {}
    spoken = (params.get("_meta") or {}).get(VERSION)
    if spoken is not None:
        yield "MCP-Protocol-Version", spoken
        yield "Mcp-Method", message["method"]
        if message["method"] == "tools/call":
            yield "Mcp-Name", params["name"]
        return
    if version is not None:
        yield "MCP-Protocol-Version", version
    if session is not None:
        yield "Mcp-Session-Id", session


def events(body):
    """The data of server-sent events."""
    data = []
    for line in body.split("\n"):
        line = line.rstrip("\r")
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []


def exchange(line, message):
    """The messages that the other side answers with."""
    global session
    connection = http.client.HTTPConnection(url.hostname, url.port)
    connection.request("POST", url.path or "/", line, dict(headers(message)))
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    session = response.headers.get("Mcp-Session-Id", session)
    if response.headers.get_content_type() == "text/event-stream":
        found = [json.loads(data) for data in events(body) if data]
    else:
        found = [json.loads(body)] if body else []
    if "id" in message and not any("jsonrpc" in each for each in found):
        reason = f"HTTP {response.status}: {body}"
        found = [{"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": reason}}]
    return found


for line in sys.stdin.buffer:
    message = json.loads(line)
    for answer in exchange(line, message):
        if message.get("method") == "initialize" and "result" in answer:
            version = answer["result"]["protocolVersion"]
        print(json.dumps(answer), flush=True)
