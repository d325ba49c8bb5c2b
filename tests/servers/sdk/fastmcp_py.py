"""The tools of this directory by FastMCP for Python: fastmcp_py.py"""

import asyncio
import math
import os
import time

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from mcp_types import TextContent

time.sleep(float(os.environ.get("START_TAKES", 0)))
server = FastMCP("sdk")


@server.tool
def raises():
    raise RuntimeError


@server.tool
def refuses():
    raise ToolError("the account is closed")


@server.tool
async def times_out():
    async with asyncio.timeout(0.01):
        await asyncio.sleep(60)


@server.tool
def nan():
    return {"success": True, "mean": math.nan}


@server.tool
def no_rows():
    return []


@server.tool
def one_row():
    return ["a"]


@server.tool
def three_rows():
    return ["a", "b", "c"]


@server.tool
def records():
    return [{"id": 1}, {"id": 2}]


@server.tool
def number() -> int:
    return 42


@server.tool
def wrong() -> int:
    return "many"


@server.tool
def empty_text() -> str:
    return ""


@server.tool
def beside():
    return [TextContent(type="text", text="saved"), TextContent(type="text", text='{"success": true}')]


@server.tool
def size(text: str) -> int:
    return len(text)


@server.tool
def prints():
    print("working …", flush=True)
    return {"success": True}


server.run(show_banner=False)
