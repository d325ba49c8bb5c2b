"""Sessions of `oneact serve catalog`, with the real binary."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path

import pytest

import oneact


def test_the_tools_of_the_catalog(client: oneact.Oneact) -> None:
    with client.session() as session:
        tools = {tool.name: tool for tool in session.tools()}
    assert {"echo", "add", "work", "apply_file_plan"} <= set(tools) and "inner" not in tools
    assert tools["echo"].description == "Repeat a text."
    assert tools["echo"].input_schema["required"] == ["text"]
    assert tools["echo"].annotations["readOnlyHint"] is True


def test_calls(client: oneact.Oneact) -> None:
    with client.session(session_id="s1") as session:
        result = session.call("echo", {"text": "Grüße 🙂"})
        assert (result.ok, result.result, result.text) == (True, {"text": "Grüße 🙂"}, "Grüße 🙂")
        assert result.raise_for_fault() is result
        assert result.envelope is not None and result.envelope["metadata"]["session_id"] == "s1"
        failed = session.call("fail", {"message": "HTTP 429 Too Many Requests"})
        assert (failed.fault, failed.recoverable, failed.effect, failed.result) == ("rate_limited", True, "done", None)
        with pytest.raises(oneact.ProcessingError):
            failed.raise_for_fault()
        unfit = session.call("echo", {"text": 5})
        assert unfit.fault == "params_invalid" and unfit.effect == "none"


def test_a_tool_that_is_not_offered(client: oneact.Oneact) -> None:
    with client.session() as session:
        assert session.call("ecko").fault == "unknown_capability"
        denied = session.call("inner")
        assert denied.fault == "context_denied" and denied.effect is None
        with pytest.raises(oneact.OutOfScope):
            denied.raise_for_fault()


def test_one_delivery_is_performed_once(client: oneact.Oneact) -> None:
    with client.session(session_id="s1") as session:
        states = [session.call("kept_echo", {"text": "x"}, idempotency_key="k").state for _ in range(2)]
        assert states == ["done", "replayed"]
        again = session.call("kept_echo", {"text": "x"}, salt="2")
        assert again.state == "done"


def test_inputs_and_made_files(client: oneact.Oneact) -> None:
    with client.session() as session:
        measured = session.call("measure", {"input_ref": "store_1"}, inputs=[oneact.Data(b"abc")])
        assert measured.result == {"bytes": 3, "sha256": hashlib.sha256(b"abc").hexdigest()}
        written = session.call("write", {"text": "Hello"})
        assert [file.read_bytes() for file in written.files] == [b"Hello"] and written.result is None
        # A file that was made is known by its ref id.
        assert session.call("measure", {"input_ref": written.files[0].ref_id}).result["bytes"] == 5


def test_large_results(client: oneact.Oneact) -> None:
    with client.session() as session:
        assert len(session.call("large", {"bytes": 300_000}).result["letters"]) == 300_000
        large = session.call("large", {"bytes": 8_000_000})
        assert len(large.result["letters"]) == 8_000_000 and json.loads(large.text) == large.result


def test_progress(client: oneact.Oneact) -> None:
    with client.session() as session:
        *told, result = session.stream("work", {"seconds": 1, "steps": 4})
    assert told and all(isinstance(event, oneact.Progress) for event in told)
    first = told[0]
    assert isinstance(first, oneact.Progress) and first.total == 4 and str(first.message).startswith("step ")
    assert isinstance(result, oneact.CallResult) and result.result == {"steps": 4}


def test_leaving_the_iterator_cancels_the_call(client: oneact.Oneact) -> None:
    with client.session() as session:
        for event in session.stream("work", {"seconds": 300, "steps": 3000}):
            assert isinstance(event, oneact.Progress)
            break
        assert session.call("echo", {"text": "next"}).ok


def test_a_call_with_a_timeout(client: oneact.Oneact) -> None:
    with client.session() as session:
        late = session.call("work", {"seconds": 300}, timeout=0.5)
        assert (late.state, late.fault, late.effect, late.recoverable) == ("cancelled", "cancelled", "unknown", True)
        assert late.text == f"cancelled: {late.message}" and "0.5 seconds" in late.text


def test_fifty_calls_of_threads(client: oneact.Oneact) -> None:
    with client.session() as session:
        together = threading.Barrier(50)

        def call(number: int) -> int:
            together.wait()
            return int(session.call("add", {"a": number, "b": 1}).result["sum"])

        with ThreadPoolExecutor(50) as pool:
            assert list(pool.map(call, range(50))) == list(range(1, 51))


def test_fifty_calls_of_tasks(async_client: oneact.AsyncOneact) -> None:
    async def main() -> list[oneact.CallResult]:
        async with async_client.session() as session:
            return await asyncio.gather(*[session.call("add", {"a": number, "b": 1}) for number in range(50)])

    assert [result.result["sum"] for result in asyncio.run(main())] == list(range(1, 51))


def test_everything_else_of_an_async_session(async_client: oneact.AsyncOneact) -> None:
    async def main() -> None:
        async with async_client.session() as session:
            assert "echo" in [tool.name for tool in await session.tools()]
            events = [event async for event in session.stream("work", {"seconds": 0.5, "steps": 2})]
            assert isinstance(events[0], oneact.Progress) and isinstance(events[-1], oneact.CallResult)
            async with aclosing(session.stream("work", {"seconds": 300, "steps": 3000})) as stream:
                async for event in stream:
                    assert isinstance(event, oneact.Progress)
                    break
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(session.call("work", {"seconds": 300}), 0.5)
            assert (await session.call("work", {"seconds": 300}, timeout=0.3)).fault == "cancelled"
            data = oneact.Data(b"abc")
            assert (await session.call("measure", {"input_ref": "store_1"}, inputs=[data])).result["bytes"] == 3
            assert len((await session.call("large", {"bytes": 8_000_000})).result["letters"]) == 8_000_000

    asyncio.run(main())


@pytest.mark.parametrize(
    ("decision", "fault", "state"),
    [(True, None, "done"), (False, "approval_denied", "rejected"), (None, "approval_required", "pending")],
)
def test_the_host_approves(client: oneact.Oneact, decision: bool | None, fault: str | None, state: str) -> None:
    asked: list[oneact.Approval] = []

    def approve(approval: oneact.Approval) -> bool | None:
        asked.append(approval)
        # Other calls go on meanwhile.
        assert session.call("echo", {"text": "meanwhile"}).ok
        return decision

    with client.session(approve=approve) as session:
        result = session.call("send", {"text": "Hello Ada"})
    assert (result.fault, result.state) == (fault, state)
    [approval] = asked
    assert "Hello Ada" in approval.message


def test_an_async_host_approves(async_client: oneact.AsyncOneact) -> None:
    async def approve(approval: oneact.Approval) -> bool:
        await asyncio.sleep(0)
        return "Hello Ada" in approval.message

    async def main() -> oneact.CallResult:
        async with async_client.session(approve=approve) as session:
            return await session.call("send", {"text": "Hello Ada"})

    assert asyncio.run(main()).ok


def test_without_a_host_who_approves_a_call_waits(client: oneact.Oneact) -> None:
    with client.session() as session:
        result = session.call("send", {"text": "Hello"})
    assert result.is_waiting and result.approval_id is not None
    with pytest.raises(oneact.ApprovalRequired) as raised:
        result.raise_for_fault()
    assert raised.value.approval_id == result.approval_id


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_callback_that_raises_decides_nothing(client: oneact.Oneact) -> None:
    def approve(approval: oneact.Approval) -> bool:
        raise RuntimeError("the window was closed")

    with client.session(approve=approve) as session:
        assert session.call("send", {"text": "Hello"}).is_waiting
    for thread in threading.enumerate():
        if thread.name == "oneact_approve":
            thread.join()


def test_the_catalog_may_change(client: oneact.Oneact, root: Path) -> None:
    with client.session() as session:
        catalog = root / "catalog.toml"
        catalog.write_text(catalog.read_text().replace("[capability.echo]", "[capability.repeat]"))
        assert session.call("repeat", {"text": "x"}).ok
        assert "repeat" in [tool.name for tool in session.tools()]


def test_a_call_that_is_under_way_when_the_session_closes(client: oneact.Oneact, root: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        with client.session() as session:
            call = pool.submit(session.call, "work", {"seconds": 300})
            while not (root / "started").exists():
                time.sleep(0.02)
        # oneact cancels the call, and still answers it if that takes less than 5 seconds.
        try:
            assert call.result().fault == "cancelled"
        except oneact.SessionEnded as error:
            assert "cancelled: work" in error.stderr


def test_an_async_call_that_is_under_way_when_the_session_closes(async_client: oneact.AsyncOneact, root: Path) -> None:
    async def main() -> None:
        async with async_client.session() as session:
            call = asyncio.ensure_future(session.call("work", {"seconds": 300}))
            while not (root / "started").exists():
                await asyncio.sleep(0.02)
        try:
            assert (await call).fault == "cancelled"
        except oneact.SessionEnded as error:
            assert "cancelled: work" in error.stderr

    asyncio.run(main())


def test_a_closed_session_says_so(client: oneact.Oneact) -> None:
    session = client.session()
    with pytest.raises(oneact.SessionEnded, match="not open"):
        session.call("echo", {"text": "x"})
    with session:
        pass
    with pytest.raises(oneact.SessionEnded):
        session.tools()
