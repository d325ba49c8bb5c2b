"""The tools of tests/suite/remote.rs over HTTP by the Python SDK, or by FastMCP: http_py.py mcp|fastmcp PORT"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

kind, port = sys.argv[1], int(sys.argv[2])
if kind == "fastmcp":
    from fastmcp import Context, FastMCP
    from fastmcp.exceptions import ToolError

    server = FastMCP("sdk")
else:
    server = MCPServer("sdk")


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
def fails() -> str:
    raise ToolError("the account is closed")


@server.tool()
async def slow(file: str, ctx: Context) -> str:
    await ctx.report_progress(1, 2)
    Path(file).write_text("started")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        Path(file).write_text("cancelled")
        raise
    return "late"


@server.tool()
async def counts(ctx: Context) -> str:
    for done in (1, 2, 3):
        await ctx.report_progress(done, 3)
        await asyncio.sleep(0.05)
    return "counted"


@server.tool()
def dies() -> str:
    os._exit(3)


if kind == "mcp":

    class Answer(BaseModel):
        ok: bool

    async def question() -> Elicit[Answer]:
        return Elicit("Go on?", Answer)

    @server.tool()
    async def asks(answer: Annotated[Answer, Resolve(question)]) -> str:
        return f"answered {answer.ok}"

    server.run(transport="streamable-http", port=port)
else:
    server.run(transport="http", port=port, show_banner=False)
