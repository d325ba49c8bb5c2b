"""Servers that give no answer."""

import json
import os
import signal
import time
from threading import Thread

from good import GOOD, at, good, idle, line, raw, result, say, send


@at("call")
def never_answers(request):
    pass


@at("call")
def stops_itself_when_called(request):
    os.kill(os.getpid(), signal.SIGSTOP)


@at("call")
def answers_late(request):
    time.sleep(2)
    good(request)


@at("call")
def reports_progress_without_end(request):
    while True:
        time.sleep(0.01)
        send({"method": "notifications/progress", "params": {
            "progressToken": request["params"]["_meta"]["progressToken"], "progress": 1}})


@at("call")
def notifies_without_end(request):
    while True:
        raw(line({"method": "notifications/message", "params": {"level": "info", "data": "x"}}) * 100)


@at("call")
def asks_and_listens_without_end(request):
    Thread(target=lambda: [None for _ in iter(lambda: os.read(0, 65536), b"")], daemon=True).start()
    while True:
        raw(line({"id": "p", "method": "ping"}) * 100)


@at("call")
def complains_without_end(request):
    while True:
        say("x" * 1023)


@at("call")
def answers_somebody_else(request):
    good({"id": 4711})
    good({"id": "0x0"})


@at("call")
def answers_in_a_batch(request):
    raw("[" + line(result(request, GOOD)).rstrip() + "]\n")


@at("call")
def answers_in_several_lines(request):
    raw(json.dumps({"jsonrpc": "2.0", **result(request, GOOD)}, indent=2) + "\n")


@at("call")
def answers_in_utf_16(request):
    raw(line(result(request, GOOD)).encode("utf-16"))


@at("call")
def ends_no_line(request):
    raw(line(result(request, GOOD)).rstrip())
    idle()


@at("call")
def exits_when_called(request):
    say("fatal: the model is missing")
    os._exit(4)


@at("call")
def exits_well_when_called(request):
    os._exit(0)


@at("call")
def segfaults_when_called(request):
    os.kill(os.getpid(), signal.SIGSEGV)


@at("call")
def dies_in_its_answer(request):
    raw(line(result(request, GOOD))[:40])
    os._exit(4)


@at("call")
def closes_its_stdout_when_called(request):
    os.close(1)
    idle()


@at("call")
def sends_more_than_fits(request):
    piece = "x" * (1 << 20)
    raw('{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request["id"])
    for _ in range(65):
        raw(piece)
    raw('"}]}}\n')


@at("call")
def prints_one_endless_line(request):
    while True:
        raw("x" * 65536)
