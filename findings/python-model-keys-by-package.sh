#!/usr/bin/env bash
# PyPI `mcp` 2.3.0 and `fastmcp` 4.2.3: the same tool returns the same pydantic model, one of whose fields has an alias.
#
#   mcp      {"itemId": 7, "price": "1.10"}     and an output schema with `itemId`, where `price` is a number or a string
#   fastmcp  {"item_id": 7, "price": "1.10"}    and an output schema with `item_id`, where `price` is a string
#
# One would guess that a server keeps its answers when its import line changes from one package to the other, because
# fastmcp builds on mcp. Instead, keys and schemas change, and with them every hash of these schemas.
#
# Installs both packages in a temporary directory. Exits with 1 if they behave otherwise.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0 fastmcp==4.2.3

cat >"$place/server.py" <<'PYTHON'
import sys
from decimal import Decimal

from pydantic import BaseModel, Field

if sys.argv[1] == "mcp":
    from mcp.server.mcpserver import MCPServer as Server
else:
    from fastmcp import FastMCP as Server

server = Server("finding")


class Item(BaseModel):
    item_id: int = Field(alias="itemId")
    price: Decimal


@server.tool()
def item() -> Item:
    return Item(itemId=7, price=Decimal("1.10"))


server.run()
PYTHON

cat >"$place/client.py" <<'PYTHON'
import json
import subprocess
import sys

EXPECTED = {
    "mcp": ({"itemId": 7, "price": "1.10"}, ["number", "string"]),
    "fastmcp": ({"item_id": 7, "price": "1.10"}, ["string"]),
}


def found(server):
    process = subprocess.Popen(
        [sys.executable, sys.argv[1], server], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )

    def tell(**message):
        print(json.dumps({"jsonrpc": "2.0", **message}), file=process.stdin, flush=True)

    def ask(number, method, **params):
        tell(id=number, method=method, params=params)
        return json.loads(process.stdout.readline())["result"]

    ask(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "finding", "version": "1"})
    tell(method="notifications/initialized")
    schema = ask(1, "tools/list")["tools"][0]["outputSchema"]
    content = ask(2, "tools/call", name="item", arguments={})["structuredContent"]
    process.stdin.close()
    process.wait()
    price = schema["properties"]["price"]
    types = [each["type"] for each in price.get("anyOf", [price])]
    return content, types, set(schema["properties"]) == set(content)


same = True
for server, expected in EXPECTED.items():
    content, types, fits = found(server)
    print(f"{server}: {content}; the schema allows for `price`: {types}")
    same &= (content, types) == expected and fits
sys.exit(0 if same else 1)
PYTHON
"$place/venv/bin/python" "$place/client.py" "$place/server.py"
