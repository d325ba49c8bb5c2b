"""A call of a tool on a server over HTTP, for scripts/bench: oneact against the clients of the Python and TypeScript SDKs.

Each client is a program that makes one call and ends, on the same server on loopback (the second TypeScript SDK, which
speaks both eras). What counts is the CPU time of the client; the server's is not in it.
"""

import json
import os
import socket
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SDK = os.path.join(os.path.dirname(HERE), "tests", "servers", "sdk")

PYTHON = """
import asyncio, sys
from mcp import Client

async def main():
    async with Client(sys.argv[1]) as client:
        result = await client.call_tool("echo", {"text": "hello"})
        print(result.content[0].text)

asyncio.run(main())
"""

TYPESCRIPT = """
import { createRequire } from "node:module";
const load = createRequire(`${process.argv[2]}/`);
const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
const client = new Client({ name: "bench", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[3])));
const result = await client.callTool({ name: "echo", arguments: { text: "hello" } });
console.log(result.content[0].text);
await client.close();
"""


def used(argv, cwd, env, stdin):
    """The CPU seconds and the wall seconds of a program, which must say hello."""
    begun = time.perf_counter()
    read, write = os.pipe()
    child = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=write, stderr=subprocess.DEVNULL)
    os.close(write)
    child.stdin.write(stdin)
    child.stdin.close()
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert b"hello" in said and child.returncode == 0, (argv, child.returncode, said)
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - begun


def section(oneact, servers, rounds):
    modules = os.path.join(servers, "sdks", "node_modules")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/mcp"
    server = subprocess.Popen(["node", os.path.join(SDK, "http_ts2.mjs"), modules, str(port)])
    try:
        with tempfile.TemporaryDirectory() as cwd:
            catalog = f'catalog = 1\n[server.far]\nurl = "{url}"\n[capability.echo]\nmcp = {{ server = "far", tool = "echo" }}\n'
            for name, text in (("catalog.toml", catalog), ("client.py", PYTHON), ("client.mjs", TYPESCRIPT)):
                with open(os.path.join(cwd, name), "w", encoding="utf-8") as file:
                    file.write(text)
            task = {"task_id": "t", "capability_ids": ["echo"], "parameters": {"text": "hello"}}
            task = json.dumps(task | {"metadata": {"session_id": "s"}}).encode()
            env = {**os.environ, "ONEACT_LEDGER": "none", "ONEACT_ROOT": cwd}
            variants = [
                ("oneact", [oneact], task),
                ("Python SDK (mcp)", [os.path.join(servers, "sdks_mcp", "bin", "python"), "client.py", url], b""),
                ("TypeScript SDK (client)", ["node", "client.mjs", modules, url], b""),
            ]
            while socket.socket().connect_ex(("127.0.0.1", port)):
                time.sleep(0.05)
            for _, argv, stdin in variants:
                used(argv, cwd, env, stdin)
            seen = {name: [] for name, _, _ in variants}
            for number in range(rounds):
                turn = number % len(variants)
                for name, argv, stdin in variants[turn:] + variants[:turn]:
                    seen[name].append(used(argv, cwd, env, stdin))
    finally:
        server.kill()
        server.wait()
    print(f"\nremote  one call over HTTP, CPU time of the client  ({rounds} rounds; goal ≤ 0.05 ×)")
    ours = statistics.median(cpu for cpu, _ in seen["oneact"])
    for name, values in seen.items():
        cpu, wall = (statistics.median(each) for each in zip(*values))
        print(f"  {name:<28} {cpu * 1000:8.1f} ms CPU  {wall * 1000:8.1f} ms  oneact is {ours / cpu:6.3f} ×")
