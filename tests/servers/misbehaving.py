#!/usr/bin/env python3
"""A stdio MCP server that does one thing wrong (or nothing): misbehaving.py MODE

Every line it gets is appended to $RECEIVED, the ids of its processes ("name pid") to $PIDS.
Python 3 standard library only.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

MODE = sys.argv[1]
OUT = sys.stdout.buffer
SLEEP = 600


def note_pid(name, pid):
    with open(os.environ["PIDS"], "a") as file:
        file.write(f"{name} {pid}\n")


def raw(data):
    OUT.write(data if isinstance(data, bytes) else data.encode())
    OUT.flush()


def send(message):
    raw(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def answer(request, result):
    if MODE == "early" and request["method"] != "tools/call":
        # In one write: the answer, many lines, a torn line and an answer to the next request.
        early = {"jsonrpc": "2.0", "id": request["id"] + 1, "result": text("early")}
        raw(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n" + "x\n" * 15_000
            + '{"jsonrpc":"2.0","result":{\n' + json.dumps(early) + "\n")
        return
    send({"id": request["id"], "result": result})


def refuse(request, code, message):
    send({"id": request["id"], "error": {"code": code, "message": message}})


def text(content):
    return {"content": [{"type": "text", "text": content}]}


def say(words):
    sys.stderr.write(words + "\n")
    sys.stderr.flush()


def flood():
    """Writes to stderr without end."""
    while True:
        os.write(2, (b"e" * 1000 + b"\n") * 60)


def lines():
    for line in sys.stdin:
        with open(os.environ["RECEIVED"], "a") as file:
            file.write(line)
        yield json.loads(line)


def progress(request, number, token=None):
    token = request["params"]["_meta"]["progressToken"] if token is None else token
    send({"method": "notifications/progress",
          "params": {"progressToken": token, "progress": number, "message": f"step {number}"}})


def sleeper(new_session):
    return subprocess.Popen(["sleep", str(SLEEP)], start_new_session=new_session,
                            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def daemon():
    """Leaves a process that has its own session and no living parent but the subreaper, and is a sleep by now."""
    became, becoming = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.setsid()
        child = os.fork()
        if child == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            os.execvp("sleep", ["sleep", str(SLEEP)])
        note_pid("daemon", child)
        os._exit(0)
    os.waitpid(middle, 0)
    os.close(becoming)
    os.read(became, 1)


def ignore_term():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


ODD = {
    "error_string": lambda i: '{"jsonrpc":"2.0","id":%s,"error":"boom"}' % i,
    "code_string": lambda i: '{"jsonrpc":"2.0","id":%s,"error":{"code":"E1","message":"boom"}}' % i,
    "error_null": lambda i: '{"jsonrpc":"2.0","id":%s,"error":null,"result":{"content":[]}}' % i,
    "result_null": lambda i: '{"jsonrpc":"2.0","id":%s,"result":null}' % i,
    "result_array": lambda i: '{"jsonrpc":"2.0","id":%s,"result":[[]]}' % i,
    "both": lambda i: '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no"},"result":{"content":[]}}' % i,
    "neither": lambda i: '{"jsonrpc":"2.0","id":%s}' % i,
    "twice": lambda i: '{"jsonrpc":"2.0","id":%s,"result":{},"result":{}}' % i,
    "string_id": lambda i: '{"jsonrpc":"2.0","id":"%s","result":{"content":[]}}' % i,
    "unread": lambda i: '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}',
    "task": lambda i: '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"task"}}' % i,
    "content_text": lambda i: '{"jsonrpc":"2.0","id":%s,"result":{"content":"text"}}' % i,
    "not_utf8": lambda i: b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"\xff"}]}}'
                          % str(i).encode(),
    "nan": lambda i: '{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"mean":NaN}}}' % i,
    "cut": lambda i: '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"te' % i,
    "cut_early": lambda i: '{"jsonrpc":"2.0","result":{"content":[{"type":"te',
    # Numbers no float holds, members no client knows, and an order of its own.
    "exact": lambda i: '{"jsonrpc":"2.0","id":%s,"result": {"zeta":1e2, "structuredContent":'
                       '123456789012345678901234567890,"content":[],"tools":[]}}' % i,
}


def tools_call(request):
    params = request["params"]
    name = params["name"]
    if MODE.startswith("odd:"):
        line = ODD[MODE[4:]](request["id"])
        raw((line if isinstance(line, bytes) else line.encode()) + b"\n")
    elif MODE == "large_half":
        blocks = '{"type":"text","text":"all is well"},{"type":"text","text":"FAILED \\ud800 %s"}' % ("x" * 1_200_000)
        raw('{"jsonrpc":"2.0","id":%s,"result":{"content":[%s]}}\n' % (request["id"], blocks))
    elif MODE == "early":
        time.sleep(0.05)
        answer(request, text("real"))
    elif MODE == "no_newline":
        raw(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": text("the end")}))
        os._exit(0)
    elif MODE == "noise":
        raw('starting\n{"level":"info"}\n42\n[1,2]\n\n\xff\n')
        raw("Loading... " + json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": text("loaded")}) + "\n")
    elif MODE == "noisy":
        raw(("x" * 50 + "\n") * 1000)
        answer(request, text("done"))
    elif MODE == "crash":
        say("Traceback: token is hunter2")
        os._exit(4)
    elif MODE == "crash_held":
        note_pid("grandchild", sleeper(False).pid)
        os._exit(5)
    elif MODE == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif MODE == "ignores":
        pass
    elif MODE == "quits":
        os._exit(0)
    elif MODE == "environment":
        # What Python adds itself is no business of ours.
        answer(request, text(json.dumps(sorted(set(os.environ) - {"LC_CTYPE"}))))
    elif MODE == "half_closed":
        os.close(1)
        time.sleep(SLEEP)
    elif MODE == "hang":
        ignore_term()
        while True:
            time.sleep(SLEEP)
    elif MODE == "flood":
        while True:
            progress(request, 1)
    elif MODE == "foreign_progress":
        while True:
            progress(request, 1, token="somebody else's")
            time.sleep(0.01)
    elif MODE == "slow":
        for step in range(8):
            time.sleep(0.25)
            progress(request, step)
        answer(request, text("done"))
    elif MODE == "stderr_flood":
        for _ in range(10_000):
            sys.stderr.write("x" * 1023 + "\n")
        say("the last line, hunter2")
        answer(request, text("done"))
    elif MODE == "stderr_endless":
        while True:
            sys.stderr.write("x" * 1023 + "\n")
    elif MODE == "big":
        answer(request, text("x" * 100_000))
        time.sleep(SLEEP)
    elif MODE == "endless":
        while True:
            raw("x" * 65536)
    elif MODE == "asks":
        asks(request)
    elif MODE == "double":
        for words in ("first", "second"):
            answer(request, text(words))
    elif MODE == "strangers":
        for stranger in (99, "nobody", None, request["id"] - 1, 0):
            send({"id": stranger, "result": text(f"for {stranger}")})
            send({"id": stranger, "error": {"code": -32603, "message": f"for {stranger}"}})
        answer(request, text("ours"))
    elif MODE == "answers_notifications":
        send({"id": None, "error": {"code": -32600, "message": "Invalid Request: no id"}})
        answer(request, text("done"))
    elif MODE == "notifies":
        chatter()
        answer(request, text("done"))
    elif MODE == "chatters":
        for _ in range(10_000):
            send({"method": "notifications/message", "params": {"level": "info", "data": "x" * 100}})
        answer(request, text("done"))
    elif MODE == "late":
        for message in lines():
            if message.get("method") == "notifications/cancelled":
                answer(request, text("too late"))
    elif MODE.startswith("typed"):
        given = {"structuredContent": params["arguments"], "content": []}
        answer(request, {"typed:bare": text("7"), "typed:failed": {**given, "isError": True}}.get(MODE, given))
    elif MODE == "era" and params["arguments"].get("text") == "refuse":
        refuse(request, -32602, "no such text")
    elif MODE == "pesters":
        while True:
            send({"id": "p", "method": "ping"})
    elif MODE == "input_required":
        asks_in_its_result(request)
    elif MODE.startswith("asks_nothing:"):
        answer(request, {"resultType": "input_required", **json.loads(MODE.split(":", 1)[1])})
    elif MODE == "lacks_capability":
        send({"id": request["id"], "error": {"code": -32021, "message": "not without you",
                                             "data": {"requiredCapabilities": json.loads(os.environ["NEEDS"])}}})
    elif MODE in ASKED:
        asks_and_fails(request, *ASKED[MODE])
    elif MODE == "large":
        answer(request, text("x" * (17 * 1024 * 1024)))
    elif MODE == "rpc_error":
        send({"id": request["id"],
              "error": {"code": -32603, "message": "no, hunter2", "data": {"k": ["hunter2"]}}})
    elif MODE == "is_error":
        answer(request, {**text("cannot"), "isError": True})
    elif MODE == "contents":
        answer(request, {"structuredContent": None, "content": [
            {"type": "text", "text": "t"},
            {"type": "image", "data": "aW1n", "mimeType": "image/png"},
            {"type": "audio", "data": "YXVk", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "Yg==", "mimeType": "a/b"}},
            {"type": "resource", "resource": {"uri": "file:///t", "text": "words"}},
            {"type": "resource_link", "uri": "file:///l", "name": "link"},
            {"type": "hologram", "n": 1},
            {"type": "text"},
        ]})
    else:
        assert name == "echo", name
        answer(request, text(json.dumps(params)))


# Odd on purpose: what a server keeps in its state is its own business.
STATE = 'a/\0 \u2028é"\\{"n":1e400}\n'


def asks_in_its_result(request):
    """Wants a name, and what it said itself; then tells all it was told."""
    params = request["params"]
    if "inputResponses" not in params:
        answer(request, {"resultType": "input_required", "requestState": STATE, "inputRequests": {
            "who": {"method": "elicitation/create", "params": {
                "message": "Your name? Not hunter2.",
                "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}}}})
    elif params.get("requestState") != STATE:
        refuse(request, -32602, "another state")
    else:
        answer(request, {"resultType": "complete", **text(json.dumps(params["inputResponses"], sort_keys=True))})


# What a server of the older era asks while it is called, before it gives up.
ASKED = {
    "asked:form": ("elicitation/create", {"message": "Your name?",
                                          "requestedSchema": {"type": "object", "properties": {}}}),
    "asked:url": ("elicitation/create", {"mode": "url", "message": "Log in:", "elicitationId": "e1",
                                         "url": "https://example.com/in?t=hunter2"}),
    "asked:sampling": ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
    "asked:roots": ("roots/list", {}),
}


def asks_and_fails(request, method, params):
    send({"id": "q", "method": method, "params": params})
    next(lines())
    answer(request, {**text("cannot go on"), "isError": True})


def asks(request):
    """Asks the client for everything a server can, and answers with what it was told."""
    questions = [
        ("ping", {}),
        ("roots/list", {}),
        ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
        ("elicitation/create", {"message": "Your name?", "requestedSchema": {"type": "object", "properties": {}}}),
    ]
    for method, params in questions:
        send({"id": method, "method": method, "params": params})
    told = {}
    for reply in lines():
        told[reply["id"]] = reply.get("error", {}).get("code", "answered")
        if len(told) == len(questions):
            break
    answer(request, text(json.dumps(told, sort_keys=True)))


TOOLS = [
    {"name": "first", "inputSchema": {"type": "object"},
     "annotations": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}},
    {"name": "echo", "inputSchema": {"type": "object", "required": ["text"],
                                     "properties": {"text": {"type": "string"}},
                                     **({"additionalProperties": False} if MODE == "closed" else {})}},
    {"name": "remote", "inputSchema": {"$ref": "https://example.invalid/schema.json"}},
]


def doubling(levels):
    """A schema of a few hundred bytes that means 4 ** levels checks."""
    steps = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 4} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**steps, f"d{levels}": {"type": "object"}}}


def chain(length):
    """A schema whose references make one long row."""
    steps = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**steps, f"d{length}": {"type": "object"}}}


ODD_SCHEMAS = {
    "keywords": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"text": {"$anchor": "text", "type": "string"}},
        "properties": {"text": {"$ref": "#text"}, "n": {"maximum": 123456789012345678901234567890}},
        "if": {"required": ["n"]}, "then": True, "else": {"not": False},
        "x-unknown": [None, "hunter2"],
    },
    "schema:long": doubling(14),
    "schema:endless": doubling(30),
    "schema:chain": chain(2000),
    "schema:circle": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    "schema:self": {"allOf": [{"$ref": "#"}]},
    "schema:javascript": {"type": "object", "properties": {
        "text": {"type": "string", "pattern": r"^[\w-.]+$"}, "n": {"type": "integer", "minimum": 1}}},
    "schema:dangling": {"properties": {"text": {"$ref": "#/$defs/none"}}},
}
# What its answers are, as the tool has it.
OUTPUT_SCHEMAS = {
    "typed:remote": {"$ref": "https://example.invalid/schema.json"},
    "typed:endless": doubling(30),
    "typed:javascript": {"type": "object", "properties": {"text": {"pattern": "[^]"}, "n": {"type": "integer"}}},
}
if MODE.startswith("typed"):
    TOOLS[1]["outputSchema"] = OUTPUT_SCHEMAS.get(MODE, {
        "type": "object", "required": ["text"], "properties": {"n": {"type": "integer"}}})
if MODE in ODD_SCHEMAS:
    TOOLS[1]["inputSchema"] = ODD_SCHEMAS[MODE]


def refuses_version(request):
    """The same answer to whatever is asked (2026-07-28, UnsupportedProtocolVersionError)."""
    if MODE != "newer" or "id" not in request:
        return False
    supported = "2099-01-01"
    data = {"supported": [supported], "requested": request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]}
    error = {"code": -32022, "message": f"only {supported}", "data": data}
    send({"id": request["id"], "error": error})
    return True


def tools_list(request):
    """One tool a page."""
    page = int((request.get("params") or {}).get("cursor") or 0)
    result = {"tools": [TOOLS[page]]}
    if MODE == "endless_pages":
        result["nextCursor"] = "0"
    elif page + 1 < len(TOOLS):
        result["nextCursor"] = str(page + 1)
    answer(request, result)


def chatter():
    """All that a server may say before it answers."""
    for method, params in (
        ("notifications/message", {"level": "info", "data": "hello"}),
        ("notifications/tools/list_changed", {}),
        ("notifications/progress", {"progressToken": "nobody's", "progress": 1}),
        ("notifications/cancelled", {"requestId": 12345, "reason": "why not"}),
        ("notifications/of_another_world", {"a": [1]}),
    ):
        send({"method": method, "params": params})


# A server that changes its era between two runs. Which one it has is told by a value of the environment, so that it is
# the same server by the names of all it is started with.
ERA = os.environ.get("ERA", "")
greeted = False


def out_of_era(request):
    """Whether the request was dealt with as one of the other era."""
    global greeted
    method = request["method"]
    if MODE != "era" or "id" not in request:
        return False
    if ERA.startswith("modern"):
        if method != "initialize":
            return False
    elif method == "initialize":
        greeted = True
        return False
    elif greeted:
        return False
    if ERA.endswith("dies"):
        os._exit(1)
    if not ERA.endswith("deaf"):
        refuse(request, -32602, "Invalid request parameters")
    return True


def initialize(request):
    if MODE.startswith("stray"):
        # An answer to a request of somebody else.
        send({"id": request["id"] + 7, "result": {"protocolVersion": "2025-11-25"}})
    if MODE == "notifies":
        chatter()
        send({"id": "early", "method": "ping"})
    if MODE == "modern":
        refuse(request, -32601, "no such method")
    elif MODE == "modern_once":
        refuse(request, -32600, "not like this")
        os._exit(0)
    elif MODE == "no_era":
        refuse(request, -32603, "no database")
    elif MODE == "init_malformed":
        send({"id": request["id"]})
    else:
        version = {"bad_version": "2099-01-01", "old": "2024-11-05"}.get(MODE, request["params"]["protocolVersion"])
        answer(request, {"protocolVersion": version, "capabilities": {"tools": {}},
                         "serverInfo": {"name": os.environ.get("NAME", "misbehaving"), "version": "1.2"}})
        if MODE == "deaf":
            time.sleep(SLEEP)


def main():
    note_pid("server", os.getpid())
    if MODE == "exits":
        say("no key; hunter2 was refused")
        sys.exit(3)
    if MODE == "noisy_start":
        raw("Loading model...\nready\n")
    if MODE.startswith("stray"):
        send({"id": "early", "result": {}})
    time.sleep(float(os.environ.get("SLOW", "0")))
    if MODE == "early":
        threading.Thread(target=flood, daemon=True).start()
        time.sleep(0.1)
    if MODE == "slow_start":
        time.sleep(4)
    if MODE == "grandchild":
        note_pid("grandchild", sleeper(False).pid)
    if MODE == "daemon":
        daemon()
    if MODE == "session":
        note_pid("grandchild", sleeper(True).pid)
    for message in lines():
        method = message.get("method")
        if MODE == "silent":
            continue
        if method is not None and (out_of_era(message) or refuses_version(message)):
            continue
        if method == "initialize":
            initialize(message)
        elif method == "server/discover":
            if MODE == "no_era":
                refuse(message, -32601, "no such method")
            else:
                answer(message, {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {},
                                 "ttlMs": 0, "cacheScope": "public",
                                 "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new", "version": "2"}}})
        elif method == "tools/list":
            tools_list(message)
        elif method == "tools/call":
            tools_call(message)
    if MODE == "stubborn":
        ignore_term()
        time.sleep(SLEEP)
    if MODE == "last_words":
        say("bye")
        sys.exit(7)


main()
