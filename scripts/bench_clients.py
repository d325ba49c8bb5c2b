"""Calls through the clients, for scripts/bench, and what importing the Python client costs.

The floor are raw pipes: a loop that writes a line of JSON to `oneact serve catalog` and reads lines until the answer is
there. The server is the native test server. If it stays (`keep_alive`), no process is started for a call, so that the
cost of the client is largest in proportion.
"""

import json
import os
import statistics
import subprocess
import sys
import time

CALLS = 500
CATALOG = """catalog = 1
[server.started]
command = ["{parts}/server"]
[server.kept]
command = ["{parts}/server"]
keep_alive = true
"""
ENTRY = """[capability.{name}]
description = "Repeat a text."
is_action = true
effects = {{ read_only = true }}
on_duplicate = {{ mode = "repeat" }}
mcp = {{ server = "{name}", tool = "echo" }}
parameter_schema_for_action = {{ type = "object", required = ["text"], properties = {{ text = {{ type = "string" }} }} }}
"""


class RawPipes:
    """The least that a program can do to call a tool of the catalog."""

    def __init__(self, oneact, root):
        pipe = subprocess.PIPE
        argv = [oneact, "serve", "catalog", "--root", root]
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self.last = 0
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == self.last:
                return message["result"]

    def call(self, name, arguments):
        return self.request("tools/call", {"name": name, "arguments": arguments})["structuredContent"]


def imported(source):
    """Microseconds of `import oneact`, by Python itself."""
    argv = [sys.executable, "-I", "-S", "-X", "importtime", "-c", f"import sys; sys.path.insert(0, {source!r}); import oneact"]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stderr
    [line] = [line for line in said.splitlines() if line.endswith("| oneact")]
    return int(line.split("|")[1])


def section(oneact, parts, root, cwd):
    source = os.path.join(root, "clients", "python", "src")
    sys.path.insert(0, source)
    import oneact as client

    project = os.path.join(cwd, "clients")
    os.mkdir(project)
    with open(os.path.join(project, "catalog.toml"), "w", encoding="utf-8") as file:
        file.write(CATALOG.format(parts=parts) + "".join(ENTRY.format(name=name) for name in ("started", "kept")))
    raw = RawPipes(oneact, project)
    times = {}
    with client.Oneact(project, binary=oneact).session() as session:
        variants = [("raw pipes", raw.call), ("Python client", lambda name, arguments: session.call(name, arguments).result)]
        for name in ("kept", "started"):
            for number in range(CALLS + 10):
                for kind, call in variants[number % 2 :] + variants[: number % 2]:
                    arguments = {"text": f"{kind} {number}"}
                    begin = time.perf_counter()
                    result = call(name, arguments)
                    elapsed = (time.perf_counter() - begin) * 1000
                    assert kind in json.dumps(result), result
                    if number >= 10:
                        times.setdefault((name, kind), []).append(elapsed)
    raw.process.stdin.close()
    raw.process.wait()
    for name, server in (("kept", "a server that stays"), ("started", "a server that is started for each call")):
        print(f"\nclients  a call in a session of serve catalog, {server}  ({CALLS} calls)")
        floor = statistics.median(times[name, "raw pipes"])
        for kind, _ in variants:
            median = statistics.median(times[name, kind])
            tenths = statistics.quantiles(times[name, kind], n=10)
            print(f"  {kind:<40} {median:9.2f} ms  ({tenths[0]:.2f}–{tenths[-1]:.2f})  {median / floor:8.2f} ×")
    print(f"\nclients  import of the Python client\n  {'import oneact':<40} {statistics.median(imported(source) for _ in range(11)) / 1000:9.2f} ms")
