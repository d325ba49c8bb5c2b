"""Calls of servers that are kept between runs, for scripts/bench.

A call of a warm server in Node, Python and TypeScript is compared with a call of the native test server, which starts in a
millisecond, and with mcporter, whose daemon keeps the same Node server. Then the memory of a holder that waits.
"""

import json
import os
import subprocess
import time

EVERYTHING = "node_modules/.bin/mcp-server-everything"
TIME = "servers/bin/mcp-server-time"
TYPESCRIPT = "tests/servers/sdk/ts2.mjs"


def catalog(parts, servers, root, kept):
    node = f"{servers}/conformance/node_modules/.bin/node"
    entries = {
        "native": ([f"{parts}/server"], "echo", False),
        "node": ([f"{servers}/{EVERYTHING}", "stdio"], "echo", kept),
        "python": ([f"{servers}/{TIME}"], "get_current_time", kept),
        "typescript": ([node if os.path.exists(node) else "node", f"{root}/{TYPESCRIPT}", f"{servers}/sdks"], "three_rows", kept),
    }
    text = "catalog = 1\n"
    for name, (command, tool, keep) in entries.items():
        text += f"[server.{name}]\ncommand = {json.dumps(command)}\n"
        text += 'keep_alive = "5m"\n' if keep else ""
        text += (f"[capability.{name}]\neffects = {{ read_only = true }}\non_duplicate = {{ mode = \"repeat\" }}\n"
                 f"mcp = {{ server = \"{name}\", tool = \"{tool}\" }}\n"
                 "parameter_schema_for_action = { type = \"object\" }\nresult = { kind = \"metadata\" }\n")
    return text


TASKS = {
    "native": {"text": "hello"},
    "node": {"message": "hello"},
    "python": {"timezone": "Europe/Berlin"},
    "typescript": {},
}


def section(oneact, parts, servers, root, mcporter, compare, once, task, cwd, rounds):
    warm, cold = os.path.join(cwd, "warm"), os.path.join(cwd, "cold")
    for directory, kept in ((warm, True), (cold, False)):
        os.mkdir(directory)
        with open(os.path.join(directory, "catalog.toml"), "w", encoding="utf-8") as file:
            file.write(catalog(parts, servers, root, kept))
    with open(os.path.join(warm, "mcporter.json"), "w", encoding="utf-8") as file:
        everything = {"command": f"{servers}/{EVERYTHING}", "args": ["stdio"], "lifecycle": "keep-alive"}
        json.dump({"mcpServers": {"everything": everything}}, file)
    argv, env = mcporter(["call", "everything.echo", "message=hello"])
    # mcporter keeps its files in the home directory.
    env = {**env, "HOME": warm}

    def calls(where, name):
        return lambda: once([oneact], task(name, TASKS[name]), where, 0)[0]

    try:
        variants = [("native server, started for the call", calls(warm, "native"))]
        variants += [(f"{name}, warm", calls(warm, name)) for name in ("node", "python", "typescript")]
        variants += [("node, mcporter with keep-alive", lambda: once(argv, b"", warm, 0, env)[0])]
        compare("warm  a call of a server that is kept", variants, rounds, in_a_row=3)
        variants = [("native server, started for the call", calls(cold, "native"))]
        variants += [(f"{name}, started for the call", calls(cold, name)) for name in ("node", "python", "typescript")]
        compare("warm  the same calls without keep_alive", variants, max(3, rounds // 5))
        time.sleep(0.5)
        print("\nwarm  memory of the holders that wait")
        listed = json.loads(once([oneact, "warm", "list", "--json"], b"", warm, 0)[1])
        for server in listed["servers"]:
            with open(f"/proc/{server['pid']}/status", encoding="utf-8") as status:
                parent = next(line.split()[1] for line in status if line.startswith("PPid:"))
            with open(f"/proc/{parent}/smaps_rollup", encoding="utf-8") as rollup:
                memory = {line.split()[0]: int(line.split()[1]) for line in rollup if line.split()[-1] == "kB"}
            own = memory["Private_Clean:"] + memory["Private_Dirty:"]
            print(f"  {server['server']:<40} {memory['Rss:'] / 1024:9.1f} MiB resident, {own / 1024:.1f} MiB of its own, "
                  f"{memory['Pss:'] / 1024:.1f} MiB of its share")
    finally:
        once([oneact, "warm", "stop"], b"", warm, 0)
        subprocess.run([argv[0], *argv[1:-3], "daemon", "stop"], cwd=warm, env=env, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
