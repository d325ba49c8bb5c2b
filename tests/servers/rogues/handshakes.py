"""Servers that fail before they are called."""

import os
import signal
import sys
import time

from good import at, error, greet, greeting, idle, line, listed, note, raw, result, say, send, text


# ─── Before the handshake ──────────────────────────────────────────────────────────────────────────
@at("start")
def works():
    pass


@at("start")
def exits_with_a_reason():
    say("cannot start: no licence")
    sys.exit(1)


@at("start")
def exits_without_a_word():
    sys.exit(0)


@at("start")
def is_killed_at_its_start():
    os.kill(os.getpid(), signal.SIGKILL)


@at("start")
def goes_to_the_background():
    if os.fork():
        os._exit(0)
    note(os.getpid())
    idle()


@at("start")
def never_listens():
    idle()


@at("start")
def stops_itself():
    os.kill(os.getpid(), signal.SIGSTOP)


@at("start")
def boots_slowly():
    time.sleep(1.5)


@at("start")
def closes_its_stdout():
    os.close(1)
    idle()


@at("start")
def closes_its_stdin():
    os.close(0)
    idle()


@at("start")
def prints_without_end_at_its_start():
    while True:
        raw("Loading weights\n" * 1000)


@at("start")
def prints_a_banner():
    raw("\x1b[1;32mrogue 1.0\x1b[0m\n\n{\"level\":\"info\"}\n42\n[1,2]\n\xff\xfe\x00\n".encode("latin-1"))


@at("start")
def fills_stderr_at_its_start():
    for _ in range(10_000):
        say("x" * 1023)


# ─── The handshake ─────────────────────────────────────────────────────────────────────────────────
@at("initialize")
def never_answers_initialize(request):
    pass


@at("initialize")
def answers_initialize_with_another_id(request):
    send({"id": "somebody else's", "result": greeting(request)})


@at("initialize")
def answers_initialize_with_null(request):
    send(result(request, None))


@at("initialize")
def answers_initialize_with_a_list(request):
    send(result(request, [greeting(request)]))


@at("initialize")
def answers_initialize_twice(request):
    greet(request)
    greet(request)


@at("initialize")
def names_a_version_of_the_future(request):
    send(result(request, {**greeting(request), "protocolVersion": "2099-01-01"}))


@at("initialize")
def names_a_number_as_its_version(request):
    send(result(request, {**greeting(request), "protocolVersion": 2}))


@at("initialize")
def refuses_both_eras(request):
    send(error(request, -32603, "the database is down"))


@at("discover")
def dies_of_discovery(request):
    os._exit(6)


@at("initialize")
def asks_before_it_greets(request):
    for method in ("ping", "roots/list", "sampling/createMessage"):
        send({"id": method, "method": method, "params": {}})
    greet(request)


@at("initialize")
def dies_once_it_has_greeted(request):
    os.close(0)
    greet(request)
    os._exit(0)


@at("initialize")
def closes_its_stdin_once_it_has_greeted(request):
    os.close(0)
    greet(request)
    idle()


@at("initialize")
def answers_before_it_is_asked(request):
    early = [line({"id": number, "result": text("nobody asked")}) for number in range(1, 9)]
    raw(line(result(request, greeting(request))) + "".join(early))


@at("initialize")
def stops_reading_once_it_has_greeted(request):
    greet(request)
    idle()


@at("initialize")
def frames_like_a_language_server(request):
    body = line(result(request, greeting(request))).rstrip()
    raw(f"Content-Length: {len(body)}\r\n\r\n{body}")


# ─── Tools ─────────────────────────────────────────────────────────────────────────────────────────
@at("list")
def has_no_such_tool(request):
    listed(request, {"name": "akt"})


@at("list")
def lists_tools_without_end(request):
    send(result(request, {"tools": [], "nextCursor": "more"}))


@at("list")
def lists_null(request):
    send(result(request, None))


@at("list")
def has_a_schema_that_explodes(request):
    steps = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 4} for n in range(30)}
    listed(request, {"inputSchema": {"$ref": "#/$defs/d0", "$defs": {**steps, "d30": {"type": "object"}}}})


@at("list")
def has_a_schema_elsewhere(request):
    listed(request, {"inputSchema": {"$ref": "https://example.invalid/schema.json"}})


@at("list")
def has_a_list_for_a_schema(request):
    listed(request, {"inputSchema": []})


@at("list")
def has_a_schema_that_nothing_fits(request):
    listed(request, {"inputSchema": False})


@at("call")
def says_the_tool_is_unknown(request):
    send(error(request, -32602, "Unknown tool: act"))
