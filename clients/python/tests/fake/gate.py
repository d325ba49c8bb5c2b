"""gate.py ROOT PROGRAM…: a tool server that stands before another one, so that a test can kill something during a call.

Each call is a line of ROOT/calls. It waits while ROOT/hold-TOOL exists.
"""

import json
import os
import subprocess
import sys
import time

root, *argv = sys.argv[1:]
server = subprocess.Popen(argv, stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    message = json.loads(line)
    if message.get("method") == "tools/call":
        tool = message["params"]["name"]
        with open(f"{root}/calls", "a", encoding="utf-8") as calls:
            calls.write(f"{tool}\n")
        while os.path.exists(f"{root}/hold-{tool}"):
            time.sleep(0.02)
    server.stdin.write(line)
    server.stdin.flush()
server.stdin.close()
sys.exit(server.wait())
