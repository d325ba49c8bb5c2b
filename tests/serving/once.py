"""Calls one tool of `oneact serve catalog` with the official Python SDK, without `_meta`: once.py ROOT TOOL ARGUMENTS

Prints the result as JSON. Each call has a server of its own, as an agent framework starts them.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters

ROOT, TOOL, ARGUMENTS = sys.argv[1:]


async def main():
    server = StdioServerParameters(command=os.environ["ONEACT"], args=["serve", "catalog", "--root", ROOT])
    async with Client(server, mode="legacy") as client:
        result = await client.call_tool(TOOL, json.loads(ARGUMENTS))
        print(result.model_dump_json(by_alias=True))


asyncio.run(main())
