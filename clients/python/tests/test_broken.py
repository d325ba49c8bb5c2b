"""Programs in the place of oneact that do what it never does."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import oneact
from oneact import _client, _connection, _process

Fake = Callable[[str], str]
HELLO = '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{}}}'


def performed(binary: str, kind: str, timeout: float | None = None) -> oneact.Outcome:
    task = oneact.Task.call("echo", {"text": "x"})
    if kind == "sync":
        return oneact.Oneact(binary=binary).perform(task, timeout=timeout)
    return asyncio.run(oneact.AsyncOneact(binary=binary).perform(task, timeout=timeout))


both = pytest.mark.parametrize("kind", ["sync", "async"])


@both
def test_a_missing_binary(kind: str, tmp_path: Path) -> None:
    with pytest.raises(oneact.BinaryMissing, match="No such file"):
        performed(str(tmp_path / "absent"), kind)
    (tmp_path / "text").write_text("no program")
    with pytest.raises(oneact.BinaryMissing, match="Permission denied"):
        performed(str(tmp_path / "text"), kind)
    (tmp_path / "text").chmod(0o755)
    with pytest.raises(oneact.BinaryMissing, match="Exec format error"):
        performed(str(tmp_path / "text"), kind)


def test_where_the_binary_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts, path = tmp_path / "scripts", tmp_path / "path"
    for directory in (scripts, path):
        directory.mkdir()
    monkeypatch.setattr("sysconfig.get_path", lambda *_: str(scripts))
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.delenv("ONEACT_BINARY")
    with pytest.raises(oneact.BinaryMissing) as missing:
        oneact.Oneact().call("echo")
    assert str(scripts) in str(missing.value) and "pip install oneact" in str(missing.value)
    for directory in (path, scripts):
        binary = directory / "oneact"
        binary.write_text("")
        binary.chmod(0o755)
        assert _process.found() == str(binary)
    monkeypatch.setenv("ONEACT_BINARY", "/elsewhere/oneact")
    assert _process.found() == "/elsewhere/oneact"


@both
@pytest.mark.parametrize(
    ("body", "message", "exit_code"),
    [
        ("echo garbage; echo oops >&2; exit 4", "begins with 'garbage.*its stderr ends with: oops", 4),
        ("cat >/dev/null; exit 0", "wrote nothing to stdout", 0),
        ("kill -9 $$", "killed by signal 9", -9),
        ("echo '{}'", "without a valid envelope", 0),
        ("echo '[1, 2'", "without a valid envelope", 0),
        ('echo \'{"output": {"content": null}}\'', "without a valid envelope", 0),
        ("printf '\\377\\376'", "without a valid envelope", 0),
    ],
)
def test_no_envelope(kind: str, fake: Fake, body: str, message: str, exit_code: int) -> None:
    with pytest.raises(oneact.NoEnvelope, match=message) as raised:
        performed(fake(body), kind)
    assert raised.value.exit_code == exit_code


@both
def test_garbage_without_end_is_killed(kind: str, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_client, "GRACE", 0.3)
    with pytest.raises(oneact.NoEnvelope):
        performed(fake("trap '' TERM; while :; do echo garbage; sleep 0.02; done"), kind, timeout=0.2)


@both
def test_huge_outputs_and_inputs_do_not_block(kind: str, fake: Fake) -> None:
    with pytest.raises(oneact.NoEnvelope) as raised:
        performed(fake("head -c 30000000 /dev/zero | tee /dev/stderr"), kind)
    assert len(raised.value.stderr) <= 4096


@both
def test_a_run_that_ignores_its_signal_is_killed(kind: str, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_client, "GRACE", 0.3)
    monkeypatch.setattr(_client, "LEFT_OPEN", 0.3)
    with pytest.raises(oneact.NoEnvelope, match="killed by signal 9"):
        # The sleep is a process of its own, which keeps the pipes open after the kill.
        performed(fake("trap '' TERM; HANG; HANG"), kind, timeout=0.2)


def opened(binary: str, kind: str, timeout: float = 10.0) -> None:
    """Opens a session, and calls one tool."""
    if kind == "sync":
        with oneact.Oneact(binary=binary).session(startup_timeout=timeout) as session:
            session.call("echo")
    else:

        async def main() -> None:
            async with oneact.AsyncOneact(binary=binary).session(startup_timeout=timeout) as session:
                await session.call("echo")

        asyncio.run(main())


@both
def test_a_session_that_cannot_be_started(kind: str, tmp_path: Path) -> None:
    with pytest.raises(oneact.BinaryMissing):
        opened(str(tmp_path / "absent"), kind)


@both
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("echo oops >&2; exit 4", "ended with exit code 4; its stderr ends with: oops"),
        ("echo garbage; HANG", "a line that is no message of MCP: b'garbage"),
        ("echo '[]'; HANG", "no message of MCP"),
        (f"read line; echo '{HELLO}'; read line; read line; exit 5", "ended with exit code 5"),
        (f"read line; echo '{HELLO}'; read line; read line; echo garbage; HANG", "no message of MCP"),
        (f"read line; echo '{HELLO}'; exec <&-; exit 6", "ended with exit code 6"),
    ],
)
def test_a_session_that_ends(kind: str, fake: Fake, body: str, message: str) -> None:
    with pytest.raises(oneact.SessionEnded, match=message):
        opened(fake(body), kind)


@both
def test_a_session_that_does_not_begin(kind: str, fake: Fake) -> None:
    with pytest.raises(oneact.SessionEnded, match="was not ready after 0.3 seconds"):
        opened(fake("exec HANG"), kind, timeout=0.3)


@both
def test_a_session_that_is_refused(kind: str, fake: Fake) -> None:
    refusal = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}})
    with pytest.raises(oneact.OneactError, match="refused the session: no"):
        opened(fake(f"read line; echo '{refusal}'; exec HANG"), kind)


@both
def test_a_session_that_does_not_end_is_killed(kind: str, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GRACE", "PATIENCE"):
        monkeypatch.setattr(_connection, name, 0.3)
    answer = '{"jsonrpc":"2.0","id":2,"result":{"content":[],"structuredContent":{"a":1}}}'
    body = f"trap '' TERM; read line; echo '{HELLO}'; read line; read line; echo '{answer}'; exec 2>&-; while :; do sleep 0.1; done"
    opened(fake(body), kind)


@both
def test_what_a_session_asks_for_is_refused(kind: str, fake: Fake, tmp_path: Path) -> None:
    """Without a callback, no approval is given. Unknown requests and notifications do no harm."""
    sent = tmp_path / "sent"
    ask = '{"jsonrpc":"2.0","id":"a","method":"elicitation/create","params":{"message":"Approve?"}}'
    ping = '{"jsonrpc":"2.0","id":"b","method":"ping"}'
    told = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}'
    answer = '{"jsonrpc":"2.0","id":2,"result":{"content":[],"structuredContent":{"a":1}}}'
    steps = ["read line", f"echo '{HELLO}'", "read line", "read line", f"echo '{told}'", f"echo '{ask}'"]
    steps += [
        "read line",
        f'echo "$line" >> {sent}',
        f"echo '{ping}'",
        "read line",
        f'echo "$line" >> {sent}',
        f"echo '{answer}'",
    ]
    opened(fake("; ".join(steps)), kind)
    refused, pong = [json.loads(line) for line in sent.read_text().splitlines()]
    assert refused["id"] == "a" and refused["error"]["code"] == -32601
    assert pong == {"jsonrpc": "2.0", "id": "b", "result": {}}


def test_a_fault_of_a_later_oneact_is_still_an_exception() -> None:
    said = {"isError": True, "structuredContent": {"fault": "of_the_future", "message": "?", "recoverable": False}}
    with pytest.raises(oneact.FaultError) as raised:
        oneact.CallResult(said, os.getcwd()).raise_for_fault()
    assert type(raised.value) is oneact.FaultError and str(raised.value) == "of_the_future: ?"
