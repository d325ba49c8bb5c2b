#!/usr/bin/env bash
# PyPI `mcp` 2.3.0, low level (`mcp.server.lowlevel.Server`): what comes of a call depends on the era in which the client
# speaks, not only on the tool.
#
#   the tool                       client of 2025-11-25                        client of 2026-07-28
#   raises ValueError("no cover")  error 0 "no cover"                          error -32603 "Internal server error"
#   returns structured content 42  error -32603 "Handler returned an invalid   42
#                                  result", after the tool has run
#
# One would guess that the words of an exception are either told or kept in both eras, and that a tool whose result the
# era does not allow is refused before it runs, or wrapped as other SDKs do. A client that changes its era sees a reason
# vanish, and a call that succeeded turn into an internal error.
#
# Installs the package in a temporary directory. Exits with 1 if it behaves otherwise.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0

cat >"$place/server.py" <<'PYTHON'
import asyncio
import sys

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool


async def listed(_context, _params):
    return ListToolsResult(tools=[Tool(name=name, input_schema={"type": "object"}) for name in ("pay", "count")])


async def call(_context, params):
    with open(sys.argv[1], "a") as ran:
        print(params.name, file=ran)
    if params.name == "pay":
        raise ValueError("no cover")
    return CallToolResult(content=[TextContent(type="text", text="42")], structured_content=42)


async def main():
    server = Server("finding", on_list_tools=listed, on_call_tool=call)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
PYTHON

cat >"$place/client.py" <<'PYTHON'
import json
import subprocess
import sys

ABOUT = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "finding", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
EXPECTED = {
    "2025-11-25": ((0, "no cover"), (-32603, "Handler returned an invalid result")),
    "2026-07-28": ((-32603, "Internal server error"), 42),
}
place = sys.argv[1]


def answers(era):
    process = subprocess.Popen(
        [sys.executable, f"{place}/server.py", f"{place}/{era}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )

    def ask(number, method, params):
        print(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}),
              file=process.stdin, flush=True)
        return json.loads(process.stdout.readline())

    def call(number, tool):
        about = {"_meta": ABOUT} if era == "2026-07-28" else {}
        answer = ask(number, "tools/call", {"name": tool, "arguments": {}, **about})
        if "error" in answer:
            return answer["error"]["code"], answer["error"]["message"]
        return answer["result"]["structuredContent"]

    if era == "2025-11-25":
        client = {"name": "finding", "version": "1"}
        ask(0, "initialize", {"protocolVersion": era, "capabilities": {}, "clientInfo": client})
        print('{"jsonrpc": "2.0", "method": "notifications/initialized"}', file=process.stdin, flush=True)
    found = call(1, "pay"), call(2, "count")
    process.stdin.close()
    process.wait()
    return found


same = True
for era, expected in EXPECTED.items():
    found = answers(era)
    with open(f"{place}/{era}") as ran:
        tools = ran.read().split()
    print(f"{era}: {found}; these tools ran: {tools}")
    same &= found == expected and tools == ["pay", "count"]
sys.exit(0 if same else 1)
PYTHON
"$place/venv/bin/python" "$place/client.py" "$place"
