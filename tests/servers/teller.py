#!/usr/bin/env python3
"""Says what nobody should see: teller.py

Its secret ($TELLER_SECRET) in many spellings, a link that is signed, and characters that steer a terminal or hide a text, in
every place where a server may put words: its name, its tools, progress, stderr, stdout, errors, results.
The argument `how` is `fails` or anything else. Python 3 standard library only.
"""

import base64
import json
import os
import sys
import time
import urllib.parse

SECRET = os.environ.get("TELLER_SECRET", "no secret")
BYTES = SECRET.encode()
INNER = json.dumps(SECRET)[1:-1]
SPELLINGS = {
    "plain": SECRET,
    "base64": base64.b64encode(BYTES).decode(),
    "basic": base64.b64encode(b"user:" + BYTES + b"!").decode(),
    "urlsafe": base64.urlsafe_b64encode(b"xy" + BYTES).decode(),
    "percent": "".join(f"%{byte:02X}" for byte in BYTES),
    "quoted": urllib.parse.quote(SECRET, safe=""),
    "file": "file:///scratch/" + urllib.parse.quote(SECRET) + ".wav",
    "json": INNER,
    "units": "".join(f"\\u{ord(letter):04x}" for letter in SECRET),
}
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\x85\u202e\u2066\u200b\ufeff\U000E0041\u2028\r\nERROR forged"
# As wide as one letter.
ACCENTS = "e" + "\u0301" * 500
WORDS = "; ".join(SPELLINGS.values()) + HOSTILE
# A result may keep a link; nothing else does.
LINK = "https://u:LINKWORD@h/?sig=LINKWORD"
SAID = LINK + " " + WORDS
TOOLS = ["say", f"say {SECRET}", f"sai{HOSTILE}"]


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "teller " + SAID, "version": "1 " + LINK + HOSTILE}}
    if method == "tools/list":
        schema = {"type": "object", "properties": {"how": {"type": "string", "description": SAID}, LINK: {}}}
        return {"tools": [{"name": name, "description": SAID, "inputSchema": schema} for name in TOOLS]}
    if method == "tools/call":
        token = params.get("_meta", {}).get("progressToken")
        for step in range(3):
            send({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step, "total": 3, "message": HOSTILE + ACCENTS + SAID}})
            time.sleep(0.1)
        if params.get("arguments", {}).get("how") == "fails":
            return {"content": [{"type": "text", "text": "HTTP 429 Too Many Requests " + SAID}], "isError": True}
        return {"content": [], "structuredContent": {**SPELLINGS, "hostile": HOSTILE, WORDS: 1}}
    return None


print("noise " + SAID.replace("\n", " "), flush=True)
print(SAID, file=sys.stderr, flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request["method"], request.get("params", {}))
    send({"id": request["id"], **({"result": result} if result is not None else
                                  {"error": {"code": -32601, "message": "no such method " + SAID}})})
print(SAID, file=sys.stderr, flush=True)
