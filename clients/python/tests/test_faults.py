"""What a tool, a caller or the system may do to a client: no call hangs, and nothing is believed that oneact did not say."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import oneact
from conftest import HERE
from oneact import _connection, _outcome, _wire
from oneact._json import DEEPEST, compact, parse

REF = {"ref_id": "derived_1", "storage_uri": "file:///etc/hostname", "asset_type": "x", "status": "created"}


class Faked:
    """Sessions with `fake/session.py`."""

    def __init__(self, directory: Path) -> None:
        self.record = directory / "record"
        binary = directory / "fake"
        binary.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S {HERE / 'fake' / 'session.py'}\n", encoding="utf-8")
        binary.chmod(0o755)
        self.how: dict[str, Any] = {"binary": binary, "env": {"RECORD": str(self.record)}}

    def session(self, **how: Any) -> oneact.Session:
        return oneact.Oneact(**{**self.how, **how}).session()

    def async_session(self, **how: Any) -> oneact.AsyncSession:
        return oneact.AsyncOneact(**{**self.how, **how}).session()

    def read(self) -> list[list[Any]]:
        return [json.loads(line) for line in self.record.read_text().splitlines()]


@pytest.fixture
def faked(tmp_path: Path) -> Faked:
    return Faked(tmp_path)


def pid(session: oneact.Session | oneact.AsyncSession) -> int:
    assert session._connection is not None
    return session._connection._process.pid


@contextmanager
def stopped(session: oneact.Session | oneact.AsyncSession) -> Iterator[None]:
    """Meanwhile the process reads nothing."""
    os.kill(pid(session), signal.SIGSTOP)
    try:
        yield
    finally:
        try:
            os.kill(pid(session), signal.SIGCONT)
        except ProcessLookupError:
            pass


@contextmanager
def within(seconds: float) -> Iterator[None]:
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < seconds


@contextmanager
def interrupted(*after: float) -> Iterator[None]:
    """Raises KeyboardInterrupt after some seconds, and perhaps again."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, *after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


BIG = {"pad": "x" * 1_500_000}


# What approves.


def test_only_true_approves() -> None:
    assert [_wire.decision_of(answer) for answer in (True, False, None)] == [True, False, None]
    for answer in (1, 0, "yes", "no", "", [], object()):
        with pytest.raises(TypeError, match="nothing is decided"):
            _wire.decision_of(answer)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_async_callback_of_a_sync_session_approves_nothing(client: oneact.Oneact) -> None:
    given: list[Any] = []

    async def approve(approval: oneact.Approval) -> bool:
        return True

    def approve_later(approval: oneact.Approval) -> Any:
        given.append(approve(approval))
        return given[0]

    with client.session(approve=approve_later) as session:
        assert session.call("send", {"text": "Hello"}).is_waiting
    # What the thread raises belongs to this test, also if it raises it late.
    for thread in threading.enumerate():
        if thread.name == "oneact_approve":
            thread.join(10)
    given[0].close()


def test_a_word_of_an_async_callback_approves_nothing(async_client: oneact.AsyncOneact) -> None:
    async def approve(approval: oneact.Approval) -> Any:
        return "no"

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        async with async_client.session(approve=approve) as session:
            assert (await session.call("send", {"text": "Hello"})).is_waiting

    asyncio.run(main())


@pytest.mark.parametrize("wrong", ["", "apr_", "7k2m9x4q", "apr_7k2m9x4q --x", "apr_a\n"])
def test_what_is_no_id_of_an_approval_performs_nothing(client: oneact.Oneact, wrong: str) -> None:
    with pytest.raises(ValueError, match="apr_"):
        client.perform_approved(wrong)
    with pytest.raises(ValueError, match="apr_"):
        asyncio.run(oneact.AsyncOneact().perform_approved(wrong))


# What is from oneact, and what is from a tool.


@pytest.mark.parametrize("refs", [[REF], ["x"], 5])
def test_a_tool_names_no_files_and_no_effect(faked: Faked, refs: object) -> None:
    said = {"output_refs_produced": refs, "effect": "none", "fault": "timeout", "a": 1}
    with faked.session() as session:
        result = session.call("t", {"result": {"content": [], "structuredContent": said}})
    assert (result.files, result.effect, result.fault, result.result) == ([], None, None, said)


def test_oneact_names_files_and_the_effect(faked: Faked) -> None:
    answer = {
        "structuredContent": {"output_refs_produced": [REF]},
        "_meta": {"oneact/effect": "none", "oneact/output_refs": [REF]},
    }
    with faked.session() as session:
        result = session.call("t", {"result": answer})
        small = {"output": {"content": {"task_result": {"output_refs_produced": [REF]}}}}
        whole = session.call("t", {"result": {**answer, "_meta": {"oneact/envelope": small}}})
    assert [file.uri for file in result.files + whole.files] == [REF["storage_uri"]] * 2
    assert (result.effect, result.result, whole.effect) == ("none", None, None)


def test_a_suppressed_call_has_its_text_without_the_note() -> None:
    blocks = [{"type": "text", "text": "Hello"}, {"type": "text", "text": "This call was not performed again"}]
    assert oneact.CallResult({"content": blocks, "structuredContent": {"text": "Hello"}}, "/").text == "Hello"


def reference(path: Path, uri: str | None = None) -> dict[str, Any]:
    sha256 = path.name.removeprefix("sha256-").removesuffix(".json")
    return {"$blob": {"storage_uri": uri or path.as_uri(), "sha256": sha256}}


def test_a_reference_to_what_is_no_result_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / f"sha256-{'0' * 64}.json"
    os.mkfifo(pipe)
    directory = tmp_path / f"sha256-{'1' * 64}.json"
    directory.mkdir()

    def stored(content: bytes) -> Path:
        path = tmp_path / f"sha256-{hashlib.sha256(content).hexdigest()}.json"
        path.write_bytes(content)
        return path

    whole = stored(b"[1]")
    assert _outcome._whole(reference(whole)) == [1]
    monkeypatch.chdir(tmp_path)
    for said in (
        reference(pipe),
        reference(directory),
        reference(stored(b"no JSON")),
        reference(stored(b"[" * 200_000)),
        reference(whole, f"./{whole.name}"),
        reference(whole, f"s3://bucket/{whole.name}"),
        reference(whole, f"file://host{whole}"),
    ):
        assert _outcome._whole(said) == said
    monkeypatch.setattr(_outcome, "LARGEST", 2)
    assert _outcome._whole(reference(whole)) == reference(whole)


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":ID}',
        '{"jsonrpc":"2.0","id":ID,"result":5}',
        '{"jsonrpc":"2.0","id":ID,"error":"x"}',
        '{"jsonrpc":"2.0","id":[ID],"result":{}}',
        "[" * 100_000,
    ],
)
def test_an_answer_that_is_none_ends_the_session(faked: Faked, line: str) -> None:
    with faked.session() as session:
        with pytest.raises(oneact.SessionEnded, match="no message of MCP"):
            session.call("t", {"line": line})


def test_an_error_with_any_data(faked: Faked) -> None:
    with faked.session() as session:
        with pytest.raises(oneact.OneactError, match="refused the call: x"):
            session.call("t", {"line": '{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"x","data":"text"}}'})


def test_an_integer_of_many_digits(faked: Faked) -> None:
    digits = "9" * 5000
    assert parse(f'{{"n":{digits},"m":7}}') == {"n": digits, "m": 7}
    line = '{"jsonrpc":"2.0","id":ID,"result":{"structuredContent":{"n":' + digits + "}}}"
    with faked.session() as session:
        assert session.call("t", {"line": line}).result == {"n": digits}
        assert session.call("t").ok


# What oneact cannot read is not sent.


def nested(levels: int) -> Any:
    document: Any = "x"
    for _ in range(levels):
        document = {"a": document}
    return document


def test_what_cannot_be_read_is_not_sent(client: oneact.Oneact, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"text": float("nan")}, {}, "JSON"),
        ({"text": float("-inf")}, {}, "JSON"),
        ({"text": "\ud800"}, {}, "surrogate"),
        ({"\udfff": "x"}, {}, "surrogate"),
        ({"text": nested(125)}, {}, "levels"),
        ({"text": nested(5000)}, {}, "levels"),
        ({}, {"idempotency_key": "\udc80"}, "surrogate"),
        ({}, {"salt": "\udc80"}, "surrogate"),
        ({}, {"under": "\udc80"}, "surrogate"),
        ({}, {"inputs": [oneact.File("\udc80")]}, "surrogate"),
    ]
    with client.session() as session:
        for arguments, further, message in calls:
            with pytest.raises(ValueError, match=message):
                session.call("echo", arguments, timeout=5, **further)
        # What is just not too deep is answered.
        assert session.call("echo", {"text": nested(124)}, timeout=5).fault == "invalid_json"
        monkeypatch.setattr(_wire, "LONGEST", 1000)
        with pytest.raises(ValueError, match="hand in large data as files"):
            session.call("echo", {"text": "x" * 1000})
        assert session.call("echo", {"text": "next"}).ok
        assert session._wire._waiting == {}


def test_the_deepest_document() -> None:
    assert json.loads(compact(nested(DEEPEST)))
    with pytest.raises(ValueError, match="levels"):
        compact(nested(DEEPEST + 1))


# A process that does not read.


def test_the_timeout_counts_while_the_pipe_is_full(faked: Faked) -> None:
    with faked.session() as session:
        with stopped(session), within(2):
            assert session.call("t", BIG, timeout=0.3).fault == "cancelled"
        assert session.call("t", timeout=10).ok

    async def main() -> None:
        async with faked.async_session() as session:
            with stopped(session), within(2):
                assert (await session.call("t", BIG, timeout=0.3)).fault == "cancelled"
            assert (await session.call("t", timeout=10)).ok

    asyncio.run(main())


def test_a_cancelled_task_cancels_what_is_half_sent_and_sends_nothing_else(faked: Faked) -> None:
    async def main() -> None:
        async with faked.async_session() as session:
            with stopped(session):
                calls = [asyncio.create_task(session.call("t", BIG)) for _ in range(2)]
                await asyncio.sleep(0.2)
                for call in calls:
                    call.cancel()
                await asyncio.wait(calls)
                assert all(call.cancelled() for call in calls)
            assert (await session.call("t", timeout=10)).ok

    asyncio.run(main())
    assert [one for one in faked.read() if one[0] != "notifications/initialized"] == [
        ["initialize", 1],
        ["tools/call", 2],
        ["notifications/cancelled", 2],
        ["tools/call", 4],
    ]


def test_an_interrupt_leaves_no_half_line(faked: Faked) -> None:
    with faked.session() as session:
        with stopped(session), within(2):
            with pytest.raises(KeyboardInterrupt), interrupted(0.3):
                session.call("t", BIG)
        assert session.call("t", timeout=10).ok
    assert ["notifications/cancelled", 2] in faked.read()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GRACE", "PATIENCE"):
        monkeypatch.setattr(_connection, name, 0.2)


def test_closing_while_a_call_cannot_be_sent(faked: Faked, impatient: None) -> None:
    session = faked.session().__enter__()
    ended: list[Exception] = []

    def call() -> None:
        try:
            session.call("t", BIG)
        except oneact.SessionEnded as error:
            ended.append(error)

    with stopped(session), within(4):
        thread = threading.Thread(target=call)
        thread.start()
        time.sleep(0.2)
        session.close()
        thread.join()
    assert len(ended) == 1


# Several processes, several loops.


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_does_not_use_the_session(faked: Faked) -> None:
    with faked.session() as session:
        child = os.fork()
        if child == 0:
            try:
                session.call("t", timeout=5)
            except oneact.OneactError as error:
                session.close()
                os._exit(0 if "belongs to process" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert session.call("t", timeout=5).ok


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_that_holds_stdin_does_not_delay_the_end(faked: Faked) -> None:
    session = faked.session().__enter__()
    child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    try:
        with within(5):
            session.close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_session_of_another_loop_says_so(faked: Faked) -> None:
    sessions: list[oneact.AsyncSession] = []

    async def open_it() -> None:
        sessions.append(await faked.async_session().__aenter__())

    async def use_it() -> None:
        [session] = sessions
        with pytest.raises(oneact.OneactError, match="another event loop"):
            await session.call("t")
        with pytest.raises(oneact.OneactError, match="another event loop"):
            await session.tools()
        with within(5):
            await session.close()

    asyncio.run(open_it())
    asyncio.run(use_it())


# The end of a process.


def gone(process: int) -> bool:
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_a_cancelled_close_kills_the_process(faked: Faked) -> None:
    async def main() -> int:
        session = await faked.async_session(env={**faked.how["env"], "STAY": "1"}).__aenter__()
        closing = asyncio.create_task(session.close())
        await asyncio.sleep(0.2)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        return pid(session)

    assert gone(asyncio.run(main()))


def test_an_interrupted_close_kills_the_process(faked: Faked) -> None:
    session = faked.session(env={**faked.how["env"], "STAY": "1"}).__enter__()
    with pytest.raises(KeyboardInterrupt), interrupted(0.2):
        session.close()
    assert gone(pid(session))


def test_a_second_interrupt_kills_a_run(fake: Callable[[str], str], tmp_path: Path) -> None:
    binary = fake(f"trap '' TERM; echo $$ > {tmp_path / 'pid'}; exec HANG")
    with within(5), pytest.raises(KeyboardInterrupt), interrupted(0.4, 0.4):
        oneact.Oneact(binary=binary).perform(oneact.Task.call("echo"))
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_second_cancel_kills_a_run(fake: Callable[[str], str], tmp_path: Path) -> None:
    binary = fake(f"trap '' TERM; echo $$ > {tmp_path / 'pid'}; exec HANG")

    async def main() -> None:
        run = asyncio.create_task(oneact.AsyncOneact(binary=binary).perform(oneact.Task.call("echo")))
        for _ in range(2):
            await asyncio.sleep(0.4)
            run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    with within(5):
        asyncio.run(main())
    assert gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("pipe", ["stdout", "stderr"])
def test_pipes_that_another_process_holds(faked: Faked, pipe: str) -> None:
    with within(4), pytest.raises(oneact.SessionEnded, match="killed by signal 9"), faked.session() as session:
        session.call("t", {"hold": pipe, "die": True})

    async def main() -> None:
        async with faked.async_session() as session:
            assert (await session.call("t", {"hold": pipe})).ok

    with within(4):
        asyncio.run(main())


def test_unread_progress_is_bounded(faked: Faked) -> None:
    with faked.session() as session:
        stream = session.stream("t", {"progress": 2_000})
        next(stream)
        # Answered after the progress of the other call.
        assert session.call("t").ok
        *told, result = stream
    last = told[-1]
    assert isinstance(result, oneact.CallResult) and result.ok
    assert len(told) < _wire.KEPT_OF_PROGRESS and isinstance(last, oneact.Progress) and last.progress == 1_999

    async def main() -> None:
        async with faked.async_session() as session:
            events = session.stream("t", {"progress": 2_000})
            await anext(events)
            assert (await session.call("t")).ok
            assert len([event async for event in events]) <= _wire.KEPT_OF_PROGRESS

    asyncio.run(main())


# The files of bytes.


def test_a_file_with_other_bytes_is_replaced(client: oneact.Oneact) -> None:
    data = oneact.Data(b"hello, Ada", ".txt")
    os.makedirs(os.path.dirname(data.uri), 0o700, exist_ok=True)
    Path(data.uri).write_bytes(b"other")
    right = hashlib.sha256(b"hello, Ada").hexdigest()
    assert client.call("measure", inputs=[data]).result["sha256"] == right
    os.mkfifo(data.uri)
    assert client.call("measure", inputs=[data]).result["sha256"] == right
    assert not os.path.exists(data.uri)


def test_a_file_that_another_process_has_locked_is_replaced(client: oneact.Oneact) -> None:
    data = oneact.Data(b"lock me")
    os.makedirs(os.path.dirname(data.uri), 0o700, exist_ok=True)
    Path(data.uri).write_bytes(b"lock me")
    with open(data.uri, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert client.perform(oneact.Task.call("measure", inputs=[data]), timeout=10).result["bytes"] == 7
    assert not os.path.exists(data.uri)


def test_the_file_is_for_reading_only_and_has_the_first_bytes() -> None:
    content = bytearray(b"one")
    data = oneact.Data(content)  # type: ignore[arg-type]
    content[:] = b"two"
    from oneact._task import present

    with present([data]), present([data]):
        assert Path(data.uri).read_bytes() == b"one" and os.stat(data.uri).st_mode & 0o777 == 0o400
    assert not os.path.exists(data.uri)
    for wrong in (5, "text"):
        with pytest.raises(TypeError):
            oneact.Data(wrong)  # type: ignore[arg-type]


def test_the_working_directory_is_no_place_of_the_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from oneact._process import found

    (tmp_path / "oneact").write_text("")
    (tmp_path / "oneact").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ONEACT_BINARY")
    monkeypatch.setattr("sysconfig.get_path", lambda *_: "/nonexistent")
    for path in ("", ":/nonexistent", ".", "/nonexistent:"):
        monkeypatch.setenv("PATH", path)
        with pytest.raises(oneact.BinaryMissing):
            found()


def test_a_run_that_is_stopped_before_it_has_begun(client: oneact.Oneact) -> None:
    try:
        assert client.perform(oneact.Task.call("echo", {"text": "x"}), timeout=0).fault == "cancelled"
    except oneact.NoEnvelope as error:
        assert error.exit_code == -signal.SIGTERM
