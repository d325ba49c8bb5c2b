"""Servers that say more than anybody reads."""

from good import TOOL, at, error, good, greet, greeting, raw, result, send, text

MEGABYTE = "x" * (1 << 20)
PAGES = "y" * 100_000


# ─── The handshake ─────────────────────────────────────────────────────────────────────────────────
@at("initialize")
def greets_with_a_megabyte(request):
    send(result(request, {**greeting(request), "instructions": MEGABYTE}))


@at("initialize")
def has_a_name_of_pages(request):
    send(result(request, {**greeting(request), "serverInfo": {"name": PAGES, "version": PAGES}}))


@at("initialize")
def refuses_in_pages(request):
    send(error(request, -32000, PAGES))


@at("initialize")
def names_a_version_of_pages(request):
    send(result(request, {**greeting(request), "protocolVersion": PAGES}))


# ─── Tools ─────────────────────────────────────────────────────────────────────────────────────────
def large(name):
    return {**TOOL, "name": name, "inputSchema": {"type": "object", "description": MEGABYTE}}


@at("list")
def has_a_schema_of_a_megabyte(request):
    send(result(request, {"tools": [large("act")]}))


@at("list")
def has_a_large_tool_beside_it(request):
    send(result(request, {"tools": [large("other"), TOOL]}))


@at("list")
def lists_megabytes(request):
    send(result(request, {"tools": [large(f"tool {number}") for number in range(5)] + [TOOL]}))


@at("list")
def lists_megabytes_page_by_page(request):
    page = [{**TOOL, "name": f"tool {number}", "description": PAGES} for number in range(3)]
    send(result(request, {"tools": page, "nextCursor": "more"}))


@at("list")
def lists_a_million_nothings(request):
    send(result(request, {"tools": [0] * 1_000_000}))


@at("list")
def has_names_of_pages(request):
    send(result(request, {"tools": [{**TOOL, "name": PAGES + str(number)} for number in range(30)]}))


# ─── The call ──────────────────────────────────────────────────────────────────────────────────────
@at("call")
def fails_with_a_megabyte(request):
    send(error(request, -32000, MEGABYTE))


@at("call")
def fails_with_a_megabyte_of_data(request):
    failure = error(request, -32000, "too much")
    failure["error"]["data"] = [0] * 1_000_000
    send(failure)


@at("call")
def tells_of_its_progress_in_a_megabyte(request):
    token = request["params"]["_meta"]["progressToken"]
    for message in (MEGABYTE, [0] * 100_000, "done"):
        send({"method": "notifications/progress",
              "params": {"progressToken": token, "progress": 1, "message": message}})
    good(request)


@at("call")
def notifies_in_megabytes(request):
    for _ in range(20):
        send({"method": "notifications/message", "params": {"level": "info", "data": [0] * 1_000_000}})
    good(request)


def ask(message):
    send({"id": "q", "method": "elicitation/create", "params": {
        "message": message, "requestedSchema": {"type": "object", "properties": {}}}})


@at("call")
def asks_with_a_megabyte(request):
    ask(MEGABYTE)


@at("call")
def asks_in_pages(request):
    ask(PAGES)
    send(result(request, {**text("nobody answers me"), "isError": True}))


@at("call")
def wants_a_megabyte_of_input(request):
    question = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"enum": [0] * 1_000_000}}}
    send(result(request, {"resultType": "input_required", "inputRequests": {"who": question}}))


@at("call")
def answers_in_too_many_blocks(request):
    send(result(request, {"content": [0] * 1_000_000}))


@at("call")
def answers_in_large_blocks_of_no_kind(request):
    blocks = [{"type": "hologram", "points": [0] * 300_000} for _ in range(20)]
    send(result(request, {"content": blocks, "structuredContent": {"ok": True}}))


@at("call")
def answers_two_results_of_megabytes(request):
    """It must not be read as a value to find out whose answer it is."""
    raw('{"jsonrpc":"2.0","result":{},"result":[%s0],"id":%s}\n' % ("0," * 5_000_000, request["id"]))
