"""Servers that leave processes behind, or will not end."""

import ctypes
import os
import signal
import time

from good import SLEEP, at, good, idle, note


def ignore(*signals):
    for number in signals:
        signal.signal(number, signal.SIG_IGN)


def fork(life):
    """A child that lives that life, and is known before it begins."""
    child = os.fork()
    if child:
        return child
    note(os.getpid())
    try:
        life()
    finally:
        os._exit(0)


def forget():
    """Lets go of pipes, directory and environment: nothing of the run can be seen on it any more."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.chdir("/")
    os.execve("/bin/sleep", ["sleep", str(SLEEP)], {})


def daemon():
    os.setsid()
    fork(forget)


def family(*lives):
    """Children, and time enough for them to become what they shall be."""
    for life in lives:
        fork(life)
    time.sleep(0.2)


@at("call")
def leaves_a_child_that_holds_the_pipes(request):
    family(idle)
    good(request)


@at("call")
def dies_while_a_child_holds_the_pipes(request):
    family(idle)
    os._exit(5)


@at("call")
def leaves_a_child_of_another_session(request):
    family(lambda: (os.setsid(), idle()))
    good(request)


@at("call")
def leaves_daemons(request):
    family(daemon, daemon)
    good(request)


@at("call")
def leaves_a_child_that_ignores_sigterm(request):
    family(lambda: (ignore(signal.SIGTERM, signal.SIGHUP, signal.SIGINT), os.setsid(), idle()))
    good(request)


@at("call")
def begets_when_told_to_end(request):
    signal.signal(signal.SIGTERM, lambda *_: fork(daemon))
    good(request)
    idle()


@at("call")
def begets_without_end(request):
    def generation():
        os.setsid()
        time.sleep(0.01)
        fork(generation)
    fork(generation)
    good(request)


@at("call")
def moves_to_another_process_group(request):
    ignore(signal.SIGTERM)
    child = fork(lambda: (os.setpgid(0, 0), idle()))
    time.sleep(0.2)
    os.setpgid(0, child)
    good(request)
    idle()


@at("call")
def changes_its_title(request):
    ctypes.CDLL(None).prctl(15, b"x) R 1 (\n", 0, 0, 0)
    good(request)


@at("call")
def ignores_eof(request):
    good(request)
    idle()


@at("call")
def ignores_eof_and_sigterm(request):
    ignore(signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    good(request)
    idle()


@at("call")
def stops_itself_after_its_answer(request):
    good(request)
    os.kill(os.getpid(), signal.SIGSTOP)


@at("call")
def ends_badly_after_its_answer(request):
    good(request)
    os._exit(9)
