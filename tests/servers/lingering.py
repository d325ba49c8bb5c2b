#!/usr/bin/env python3
"""A server that answers at once and ends late: lingering.py SECONDS [alone | COMMAND]

Unless it is alone, each call has a shell start the command: a sleep in a session of its own, and one more below it, which lose their
parent at once. When its stdin ends the server takes SECONDS to end, and ignores SIGTERM meanwhile.
Python 3 standard library only.
"""

import json
import signal
import subprocess
import sys
import time

CALLS = 0
LEFT = sys.argv[2] if len(sys.argv) > 2 else "setsid sh -c 'sleep 600 & exec sleep 600' </dev/null >/dev/null 2>&1 &"


def result(method):
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "lingering", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}
    global CALLS
    CALLS += 1
    if "alone" not in sys.argv:
        subprocess.run(["sh", "-c", LEFT], check=True)
    return {"content": [], "structuredContent": {"calls": CALLS}}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result(request["method"])}), flush=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(float(sys.argv[1]))
