"""The tools of this directory by the low level of the Python SDK, where a tool makes the answer itself: mcp_low.py"""

import asyncio
import os
import time

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

time.sleep(float(os.environ.get("START_TAKES", 0)))


def texts(*texts, **more):
    return CallToolResult(content=[TextContent(type="text", text=text) for text in texts], **more)


def raises(_):
    raise RuntimeError


def refuses(_):
    raise MCPError(-32000, "the account is closed")


async def times_out(_):
    async with asyncio.timeout(0.01):
        await asyncio.sleep(60)


def prints(_):
    print("working …", flush=True)
    return texts('{"success": true}')


TOOLS = {
    "raises": raises,
    "refuses": refuses,
    "times_out": times_out,
    "nan": lambda _: texts('{"success": true, "mean": NaN}'),
    "no_rows": lambda _: texts(),
    "one_row": lambda _: texts("a"),
    "three_rows": lambda _: texts("a", "b", "c"),
    "records": lambda _: texts('{"id": 1}', '{"id": 2}'),
    "number": lambda _: texts("42", structured_content=42),
    "wrong": lambda _: "many",
    "empty_text": lambda _: texts(""),
    "beside": lambda _: texts("saved", '{"success": true}'),
    "size": lambda arguments: texts(str(len(arguments["text"]))),
    "prints": prints,
}


async def listed(_context, _params):
    return ListToolsResult(tools=[Tool(name=name, input_schema={"type": "object"}) for name in TOOLS])


async def call(_context, params):
    if params.name not in TOOLS:
        return texts(f"Unknown tool: {params.name}", is_error=True)
    answer = TOOLS[params.name](params.arguments or {})
    return await answer if asyncio.iscoroutine(answer) else answer


async def main():
    server = Server("sdk", on_list_tools=listed, on_call_tool=call)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
