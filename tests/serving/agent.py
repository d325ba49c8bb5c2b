"""Drives an improvised action over `oneact serve catalog` with the official Python SDK: agent.py ROOT

The server is killed between two calls, and the agent goes on with another one. A person's key signs the approval. Prints
what it has found as one JSON document.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys

from mcp import Client, StdioServerParameters

ROOT = sys.argv[1]
ONEACT = os.environ["ONEACT"]
ENTRIES = ["now", "write_note", "read_note", "remember", "task_create"]
NOTE = os.path.join(ROOT, "notes", "note.txt")


def server():
    line = 'echo $$ > server.pid; exec "$0" serve catalog --session agent'
    return StdioServerParameters(command="sh", args=["-c", line, ONEACT], cwd=ROOT)


def approve(approval):
    """What a person does at another terminal."""
    def run(*command, **more):
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, **more).stdout

    statement = f"statement-{approval}"
    with open(os.path.join(ROOT, statement), "wb") as file:
        file.write(run(ONEACT, "approvals", approval, "--statement"))
    run("ssh-keygen", "-q", "-Y", "sign", "-n", "oneact-approval", "-f", "alice", statement)
    run(ONEACT, "approve", approval, "--signature", statement + ".sig")


async def main():
    found = {}
    proposal = {"plan_summary": "Note the time and plan to read it.",
                "grant": {"entries": ENTRIES, "max_calls": 5, "for": "30m"}}
    named = {"oneact/idempotency_key": "propose"}

    async def call(client, number, entry, parameters):
        meta = {"oneact/under": found["under"], "oneact/idempotency_key": f"call-{number}"}
        result = await client.call_tool(entry, parameters, meta=meta)
        return result.meta["oneact/state"], result.structured_content

    try:
        async with Client(server(), mode="legacy") as client:
            offered = {tool.name for tool in (await client.list_tools()).tools}
            assert offered >= {"improvise", *ENTRIES}, offered
            held = await client.call_tool("improvise", proposal, meta=named)
            found["waits"] = [held.is_error, held.structured_content["fault"]]
            approve(held.structured_content["waiting"]["approval_id"])
            opened = await client.call_tool("improvise", proposal, meta=named)
            found["under"] = opened.structured_content["grant"]["under"]
            _, now = await call(client, 1, "now", {"timezone": "UTC"})
            time = now["datetime"]
            _, risky = await call(client, 2, "write_note", {"path": NOTE, "content": time})
            approve(risky["waiting"]["approval_id"])
            found["written"], _ = await call(client, 2, "write_note", {"path": NOTE, "content": time})
            await call(client, 3, "read_note", {"path": NOTE})
            with open(os.path.join(ROOT, "server.pid")) as file:
                os.kill(int(file.read()), signal.SIGKILL)
    except Exception as error:  # The client finds its server dead.
        print(f"interrupted: {error!r}", file=sys.stderr)
    async with Client(server(), mode="legacy") as client:
        again, _ = await call(client, 3, "read_note", {"path": NOTE})
        entity = {"name": "note", "entityType": "file", "observations": [time]}
        fourth, _ = await call(client, 4, "remember", {"entities": [entity]})
        fifth, _ = await call(client, 5, "task_create", {"task_text": "Read the note"})
        found["after the interruption"] = [again, fourth, fifth]
        _, over = await call(client, 6, "now", {"timezone": "Asia/Tokyo"})
        found["over"] = over["fault"]
    print(json.dumps(found))


asyncio.run(main())
