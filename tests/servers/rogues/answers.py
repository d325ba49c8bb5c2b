"""Servers whose answers are odd, and some that are good all the same."""

import os

from good import GOOD, HEARD, KEY, MODES, at, error, good, line, raw, result, say, send, text


# ─── Odd answers ───────────────────────────────────────────────────────────────────────────────────
def odd(name, answer):
    """Answers with that line; `%d` is the id."""
    answer = answer if isinstance(answer, bytes) else answer.encode()
    MODES[name] = ("call", lambda request: raw(answer.replace(b"%d", str(request["id"]).encode()) + b"\n"))


odd("answers_nan", '{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"mean":NaN}}}')
odd("answers_in_latin_1", b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"caf\xe9"}]}}')
odd("answers_half_a_surrogate_pair",
    '{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"face":"\\ud83d"}}}')
odd("answers_half_a_pair_in_text",
    '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\\ud83d"}]}}')
odd("answers_null", '{"jsonrpc":"2.0","id":%d,"result":null}')
odd("answers_a_list", '{"jsonrpc":"2.0","id":%d,"result":[{"type":"text","text":"t"}]}')
odd("answers_nothing", '{"jsonrpc":"2.0","id":%d}')
odd("answers_an_empty_object", '{"jsonrpc":"2.0","id":%d,"result":{}}')
odd("answers_content_that_is_text", '{"jsonrpc":"2.0","id":%d,"result":{"content":"t"}}')
odd("answers_with_a_word_as_its_error", '{"jsonrpc":"2.0","id":%d,"error":"boom"}')
odd("answers_with_a_word_as_its_code", '{"jsonrpc":"2.0","id":%d,"error":{"code":"E1","message":"boom"}}')
odd("answers_with_an_error_of_null",
    '{"jsonrpc":"2.0","id":%d,"error":null,"result":{"content":[],"structuredContent":{"ok":true}}}')
odd("answers_two_results", '{"jsonrpc":"2.0","id":%d,"result":{},"result":{}}')
odd("answers_the_same_key_twice",
    '{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"a":1,"a":2}}}')
odd("answers_a_number_no_float_holds",
    '{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"n":1e99999}}}')
odd("answers_too_deep", '{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":'
    + '[' * 100_000 + ']' * 100_000 + '}}')
odd("answers_far_too_deep", '{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":'
    + '[' * 600_000 + ']' * 600_000 + '}}')
odd("asks_for_input_unbidden", '{"jsonrpc":"2.0","id":%d,"result":{"resultType":"input_required","requestState":"s",'
    '"inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Your name?",'
    '"requestedSchema":{"type":"object","properties":{}}}}}}}')
odd("makes_a_task_of_it", '{"jsonrpc":"2.0","id":%d,"result":{"resultType":"task"}}')
odd("fails_and_says_so", '{"jsonrpc":"2.0","id":%d,"result":{"isError":true,"content":[{"type":"text",'
    '"text":"cannot open the file"}]}}')
odd("fails_without_a_word", '{"jsonrpc":"2.0","id":%d,"result":{"isError":true,"content":[]}}')
odd("fails_in_its_data", '{"jsonrpc":"2.0","id":%d,"result":{"isError":true,"content":[],'
    '"structuredContent":{"success":false,"error":"the disk is on fire"}}}')
odd("tells_its_key", '{"jsonrpc":"2.0","id":%%d,"result":{"content":[],"structuredContent":{"key":"%s"}}}' % KEY)
odd("fails_with_its_key", '{"jsonrpc":"2.0","id":%%d,"error":{"code":-32000,"message":"bad key %s"}}' % KEY)


@at("call")
def asks_while_it_is_called(request):
    send({"id": "q", "method": "elicitation/create", "params": {
        "message": "Your name?", "requestedSchema": {"type": "object", "properties": {}}}})
    next(HEARD)
    send(result(request, {**text("nobody answers me"), "isError": True}))


# ─── Odd, and good all the same ────────────────────────────────────────────────────────────────────
@at("call")
def answers_twice(request):
    good(request)
    send(error(request, -32000, "changed my mind"))


@at("call")
def answers_without_a_last_newline(request):
    raw(line(result(request, GOOD)).rstrip())
    os._exit(0)


@at("call")
def answers_byte_by_byte(request):
    for byte in line(result(request, GOOD)).encode():
        raw(bytes([byte]))


@at("call")
def answers_with_carriage_returns(request):
    raw(line(result(request, GOOD)).replace("\n", "\r\n"))


@at("call")
def prints_before_it_answers(request):
    raw('step 1\n\x1b[2Kstep 2\r\n{"level":"info"}\n42\n[1,2]\n')
    good(request)


@at("call")
def prints_on_the_line_of_its_answer(request):
    raw("Loading... " + line(result(request, GOOD)))


@at("call")
def prints_after_its_answer(request):
    good(request)
    while True:
        raw("bye\n" * 1000)


@at("call")
def fills_stderr_when_called(request):
    for _ in range(10_000):
        say("x" * 1023)
    good(request)
