"""A program in the place of `oneact serve catalog` that does what the arguments of a call say, and records what it reads."""

import json
import os
import subprocess
import sys
import time


def send(message):
    sys.stdout.write((message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    arguments = message.get("params", {}).get("arguments", {})
    with open(os.environ["RECORD"], "a", encoding="utf-8") as record:
        record.write(json.dumps([method, number or message.get("params", {}).get("requestId")]) + "\n")
    if method == "initialize":
        send({"id": number, "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}})
    if method != "tools/call":
        continue
    for progress in range(arguments.get("progress", 0)):
        params = {"progressToken": number, "progress": progress}
        send({"method": "notifications/progress", "params": params})
    if hold := arguments.get("hold"):
        # Another process keeps one of the pipes open.
        other = {"stdout": "stderr", "stderr": "stdout"}[hold]
        subprocess.Popen(["sleep", "6"], stdin=subprocess.DEVNULL, **{other: subprocess.DEVNULL})
    if arguments.get("die"):
        os.kill(os.getpid(), 9)
    if "line" in arguments:
        send(arguments["line"].replace("ID", str(number)))
    else:
        send({"id": number, "result": arguments.get("result", {"content": []})})
if os.environ.get("STAY"):
    time.sleep(60)
