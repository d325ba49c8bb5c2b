"""Uses `oneact serve catalog` with the official Python SDK, in the era that it is told: client.py legacy|modern ROOT

Prints what it has found as one JSON document.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters

ERA, ROOT = sys.argv[1:]


async def main():
    command = ["serve", "catalog", "--root", ROOT, "--session", f"python-{ERA}"]
    server = StdioServerParameters(command=os.environ["ONEACT"], args=command)
    async with Client(server, mode="legacy" if ERA == "legacy" else "2026-07-28") as client:
        tools = await client.list_tools()
        happened = await client.call_tool("happen", {"what": "python " + ERA})
        again = await client.call_tool("happen", {"what": "python " + ERA})
        wrong = await client.call_tool("happen", {"what": 1})
        print(json.dumps({
            "version": client.protocol_version,
            "tools": sorted(tool.name for tool in tools.tools),
            "happened": happened.structured_content,
            "again": again.meta["oneact/state"],
            "wrong": [wrong.is_error, wrong.structured_content["fault"]],
        }))


asyncio.run(main())
