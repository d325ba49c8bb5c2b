"""oneact.temporal with Temporal's development server, and the sample workflow with a bucket of SeaweedFS."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from temporalio import workflow
from temporalio.client import ActivityFailureError, Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import ActivityIDConflictPolicy, ActivityIDReusePolicy, RetryPolicy
from temporalio.exceptions import ActivityAlreadyStartedError, ApplicationError, CancelledError
from temporalio.worker import Worker

import oneact
import services
from conftest import CLIENT, HERE
from oneact import temporal
from oneact._process import found
from sample import STEPS, Machines, Sample

Result = TypeVar("Result")


@workflow.defn(sandboxed=False)
class One:
    """A workflow of one task."""

    @workflow.run
    async def run(self, task: dict[str, Any]) -> temporal.Performed:
        return await workflow.execute_activity_method(
            temporal.Activities.perform,
            task,
            start_to_close_timeout=timedelta(seconds=60),
            heartbeat_timeout=timedelta(seconds=2),
            retry_policy=RetryPolicy(
                initial_interval=timedelta(milliseconds=50), maximum_interval=timedelta(seconds=1)
            ),
        )


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    port = services.free_port()
    server = services.temporal(tmp_path_factory.mktemp("temporal"), port)
    yield port
    server.kill()


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    """A root whose server pays."""
    root = Path(shutil.copytree(HERE / "temporal", tmp_path / "bank"))
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", root / "key"], check=True)
    (root / "allowed_signers").write_text(f"ada {(root / 'key.pub').read_text(encoding='utf-8')}", encoding="utf-8")
    return root


def pay(how: str, capability: str = "pay") -> dict[str, Any]:
    return {"capability_ids": [capability], "parameters": {"how": how}}


def lines(root: Path, name: str) -> list[str]:
    path = root / name
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def command(root: Path, *arguments: str) -> str:
    argv = [found(), *arguments, "--root", str(root)]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def run(test: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(test)


@asynccontextmanager
async def working(port: int, root: Path) -> AsyncIterator[Client]:
    client = await services.connected(port)
    activities = temporal.Activities(oneact.AsyncOneact(root))
    async with Worker(client, task_queue=root.parent.name, workflows=[One], activities=[activities.perform]):
        yield client


async def start(client: Client, root: Path, task: dict[str, Any]) -> WorkflowHandle[One, temporal.Performed]:
    queue = root.parent.name
    return await client.start_workflow(One.run, task, id=f"one-{queue}", task_queue=queue)


async def until(what: str, is_there: Any) -> None:
    await asyncio.to_thread(services.wait_for, what, is_there)


async def failed(handle: WorkflowHandle[One, temporal.Performed]) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as raised:
        await handle.result()
    cause = raised.value.cause.__cause__
    assert isinstance(cause, ApplicationError)
    return cause


def test_a_task_of_a_workflow_is_performed_once_under_the_key_of_its_activity(port: int, bank: Path) -> None:
    async def test() -> None:
        async with working(port, bank) as client:
            handle = await start(client, bank, pay("fine"))
            made = await handle.result()
            assert (made.state, made.result, made.files) == ("done", {"text": "paid"}, [])
            # The same delivery, as an attempt whose answer was lost.
            info = SimpleNamespace(
                workflow_id=handle.id, activity_id="1", namespace="default", task_queue=bank.parent.name
            )
            document = temporal.delivery(pay("fine"), info)  # type: ignore[arg-type]
            assert document["metadata"]["idempotency_key"] == f"{handle.id}/1"
            again = await oneact.AsyncOneact(bank).perform(document)
            assert (again.state, again.operation_id) == ("replayed", again.operation_id)
            assert again.session_id == made.session_id

    run(test())
    assert lines(bank, "paid") == ["fine"]


def test_a_task_that_stands_alone_is_performed_at_most_once(port: int, bank: Path) -> None:
    async def test() -> None:
        async with working(port, bank) as client:

            async def alone() -> temporal.Performed:
                return await client.execute_activity_method(
                    temporal.Activities.perform,
                    pay("fine"),
                    id=f"alone-{bank.parent.name}",
                    task_queue=bank.parent.name,
                    start_to_close_timeout=timedelta(seconds=60),
                    heartbeat_timeout=timedelta(seconds=2),
                    id_reuse_policy=ActivityIDReusePolicy.REJECT_DUPLICATE,
                    id_conflict_policy=ActivityIDConflictPolicy.USE_EXISTING,
                )

            made = await alone()
            assert made.result == {"text": "paid"}
            # Temporal refuses the id, and the ledger the delivery: this is the record of an id that Temporal has forgotten.
            with pytest.raises(ActivityAlreadyStartedError):
                await alone()
            history = json.loads(command(bank, "history", "--session", made.session_id, "--json"))
            assert f"alone-{bank.parent.name}" in json.dumps(history)

    run(test())
    assert lines(bank, "paid") == ["fine"]


def test_what_may_help_is_sent_again_after_the_time_that_the_server_names(port: int, bank: Path) -> None:
    async def test() -> float:
        async with working(port, bank) as client:
            begin = time.monotonic()
            handle = await start(client, bank, pay("busy", "pay_again"))
            assert (await handle.result()).state == "done"
            return time.monotonic() - begin

    # The policy of the workflow alone would wait for 50 ms.
    assert run(test()) > 2
    assert (lines(bank, "tried"), lines(bank, "paid")) == (["busy", "busy"], ["busy"])


@pytest.mark.parametrize(
    ("task", "fault", "effect", "tried"),
    [
        (pay("refused"), "tool_error", "done", 1),  # exit code 1
        ({"capability_ids": ["pay"], "parameters": {}}, "params_invalid", "none", 0),  # exit code 2
        (pay("dies"), "server_unreachable", "unknown", 1),
        # A call that must not happen twice has had its answer: the ledger returns it, and there is no third attempt.
        (pay("busy"), "rate_limited", "done", 1),
    ],
)
def test_what_cannot_help_is_not_sent_again(
    port: int, bank: Path, task: dict[str, Any], fault: str, effect: str, tried: int
) -> None:
    async def test() -> None:
        async with working(port, bank) as client:
            error = await failed(await start(client, bank, task))
            assert (error.type, error.non_retryable) == (fault, True)
            assert error.details[0]["effect"] == effect and error.details[0]["operation_id"].startswith("op_")

    run(test())
    assert len(lines(bank, "tried")) == tried


def test_a_large_result_is_a_reference(port: int, bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with working(port, bank) as client:
            blob = (await (await start(client, bank, pay("talks much"))).result()).result
            assert blob["$blob"]["bytes"] > 700 << 10
            monkeypatch.setattr(temporal, "LARGEST_RESULT", 10)
            outcome = await oneact.AsyncOneact(bank).perform(oneact.Task.call("pay", {"how": "fine"}))
            made = temporal.performed(outcome)
            assert made.result == {"$operation": made.operation_id, "bytes": 16}
            assert made.operation_id in command(bank, "show", made.operation_id)

    run(test())


def test_heartbeats_tell_what_the_run_tells_and_a_cancel_leaves_no_process(port: int, bank: Path) -> None:
    async def test() -> None:
        async with working(port, bank) as client:
            handle = await start(client, bank, pay("hangs"))
            await until("a payment", lambda: lines(bank, "paid"))
            beats: list[Any] = []
            while not any("the bank thinks" in str(beat) for beat in beats):
                activities = (await handle.describe()).raw_description.pending_activities
                beats = [payload.data for one in activities for payload in one.heartbeat_details.payloads]
                await asyncio.sleep(0.1)
            await handle.cancel()
            with pytest.raises(WorkflowFailureError) as raised:
                await handle.result()
            assert isinstance(raised.value.cause, CancelledError)
            await until("the end of all processes", lambda: not services.processes(bank))

    run(test())
    history = json.loads(command(bank, "history", "--json"))
    assert '"unknown"' in json.dumps(history)
    assert lines(bank, "paid") == ["hangs"]


WORKER = """
import asyncio, sys
import oneact, services
from oneact import temporal
from temporalio.worker import Worker

async def main(port, root, queue):
    activities = temporal.Activities(oneact.AsyncOneact(root))
    await Worker(await services.connected(int(port)), task_queue=queue, activities=[activities.perform]).run()

asyncio.run(main(*sys.argv[1:]))
"""


def other_worker(port: int, root: Path) -> subprocess.Popen[bytes]:
    """A worker of the activity in a process of its own."""
    env = {**os.environ, "PYTHONPATH": f"{CLIENT / 'src'}:{HERE}"}
    return subprocess.Popen([sys.executable, "-c", WORKER, str(port), str(root), root.parent.name], env=env)


def test_a_worker_that_is_killed_leaves_no_process_and_its_call_is_not_made_twice(port: int, bank: Path) -> None:
    async def test() -> None:
        client = await services.connected(port)
        queue = bank.parent.name
        worker = other_worker(port, bank)
        async with Worker(client, task_queue=queue, workflows=[One]):
            handle = await start(client, bank, pay("hangs"))
            await until("a payment", lambda: lines(bank, "paid"))
            worker.kill()
            worker.wait()
            await until("the end of all processes", lambda: not services.processes(bank))
            async with Worker(
                client, task_queue=queue, activities=[temporal.Activities(oneact.AsyncOneact(bank)).perform]
            ):
                error = await failed(handle)
        assert (error.type, error.non_retryable) == ("outcome_unknown", True)

    run(test())
    assert lines(bank, "paid") == ["hangs"]


def waiting(root: Path) -> str:
    """The id of the one request that waits, if there is one."""
    argv = [found(), "approvals", "--json", "--root", str(root)]
    said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    known = json.loads(said)["approvals"] if said else []
    return str(known[0]["approval_id"]) if known else ""


@pytest.mark.parametrize("alone", [False, True])
def test_a_task_that_waits_for_an_approval_is_completed_when_it_arrives(port: int, bank: Path, alone: bool) -> None:
    async def test() -> temporal.Performed:
        async with working(port, bank) as client:
            handle: Any
            if alone:
                handle = await client.start_activity_method(
                    temporal.Activities.perform,
                    pay("fine", "pay_approved"),
                    id=f"approved-{bank.parent.name}",
                    task_queue=bank.parent.name,
                    start_to_close_timeout=timedelta(seconds=60),
                    heartbeat_timeout=timedelta(seconds=2),
                )
            else:
                handle = await start(client, bank, pay("fine", "pay_approved"))
            await until("a request", lambda: waiting(bank))
            # Longer than the time without a heartbeat that Temporal permits.
            await asyncio.sleep(3)
            assert lines(bank, "paid") == []
            await asyncio.to_thread(command, bank, "approve", waiting(bank), "--key", str(bank / "key"))
            made: temporal.Performed = await handle.result()
            return made

    assert run(test()).result == {"text": "paid"}
    assert lines(bank, "paid") == ["fine"]


def test_a_denial_fails_and_a_cancel_ends_the_waiting(port: int, bank: Path) -> None:
    async def test() -> None:
        async with working(port, bank) as client:
            handle = await start(client, bank, pay("fine", "pay_approved"))
            await until("a request", lambda: waiting(bank))
            await handle.cancel()
            with pytest.raises(WorkflowFailureError):
                await handle.result()
            await until("the end of all processes", lambda: not services.processes(bank))
            handle = await start(client, bank, pay("fine", "pay_approved"))
            key = str(bank / "key")
            await asyncio.to_thread(command, bank, "deny", waiting(bank), "-m", "no", "--key", key)
            assert (await failed(handle)).type == "approval_denied"

    run(test())
    assert lines(bank, "paid") == []


def test_a_worker_that_stops_hands_over_what_may_be_repeated(port: int, bank: Path) -> None:
    async def test() -> None:
        async with working(port, bank) as client:
            handle = await start(client, bank, pay("hangs", "pay_again"))
            await until("a payment", lambda: lines(bank, "paid"))
        assert not services.processes(bank)
        async with working(port, bank):
            assert (await handle.result()).state == "done"

    run(test())
    assert lines(bank, "tried") == ["hangs", "hangs"]


def test_after_143_an_unknown_effect_is_not_retried() -> None:
    ended = SimpleNamespace(recoverable=True, state="cancelled", exit_code=143, effect="unknown")
    assert not temporal.may_retry(ended)  # type: ignore[arg-type]
    ended.effect = "none"
    assert temporal.may_retry(ended)  # type: ignore[arg-type]


@pytest.mark.timeout(170)
def test_the_sample_workflow_whose_run_is_killed_ends_right(tmp_path: Path) -> None:
    machines = Machines(tmp_path, shared_ledger=False)
    directory = tmp_path / "sample"
    directory.mkdir()
    sample = Sample(machines, directory)

    async def test() -> None:
        held = sample.hold("transcriber")
        handle = await sample.start()
        await until("the call", lambda: sample.calls("transcriber") == 1)
        [process] = sample.runs("text")
        os.kill(process, signal.SIGKILL)
        held.unlink()
        await sample.finished(handle)

    try:
        run(test())
    finally:
        sample.close()
        machines.close()
    assert [sample.calls(tool) for tool in STEPS] == [1, 2, 1]


def test_the_delay_that_a_server_asks_for() -> None:
    assert temporal.retry_after("HTTP 429 (retry-after: 7); try again later") == timedelta(seconds=7)
    assert temporal.retry_after("HTTP 429 (Retry-After: 99999999999999)") == timedelta(days=1)
    assert temporal.retry_after("HTTP 429 (Retry-After: Wed, 21 Oct 2015 07:28:00 GMT)") == timedelta()
    assert temporal.retry_after("HTTP 429 (Retry-After: soon)") is None
    assert temporal.retry_after("HTTP 429") is None


def test_the_names_of_a_delivery_are_those_of_the_task_or_of_temporal() -> None:
    def delivered(task: dict[str, Any], **info: Any) -> Any:
        known = {"workflow_id": "w/1", "activity_id": "2", "namespace": "default", "task_queue": "q", **info}
        return temporal.delivery(task, SimpleNamespace(**known))  # type: ignore[arg-type]

    task = {"capability_ids": ["pay"]}
    first = delivered(task)
    assert first["metadata"]["idempotency_key"] == "w/1/2" and first["task_id"] == "activity_2"
    assert first["metadata"]["session_id"].startswith("w_1-") and "metadata" not in task
    assert delivered(task) == first
    sessions = [delivered(task, **info)["metadata"]["session_id"] for info in ({"namespace": "n"}, {"task_queue": "r"})]
    assert len({first["metadata"]["session_id"], *sessions}) == 3
    own = {**task, "task_id": "t", "idempotency_key": "k", "metadata": {"session_id": "s", "request_id": None}}
    assert delivered(own) == {**own, "metadata": {"session_id": "s"}}
    # A key and a session of the task stay, wherever the form of the task has them.
    dispatch = {"capability_ids": ["pay"], "idempotency_key": "invoice-4711"}
    for form in ({"dispatch": dispatch}, {"output": {"content": {"dispatch": dispatch}}}):
        assert "idempotency_key" not in delivered(form)["metadata"]
    assert "session_id" not in delivered({"actionId": "pay", "args": {}, "sessionId": "s-1", "context": {}})["metadata"]


def test_without_temporalio_the_import_says_what_to_install() -> None:
    program = f"import sys; sys.path.insert(0, {str(CLIENT / 'src')!r}); import oneact.temporal"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'oneact[temporal]'" in done.stderr


def test_a_task_belongs_to_the_trace_of_its_activity() -> None:
    from opentelemetry.sdk.trace import TracerProvider

    info: Any = SimpleNamespace(workflow_id="w", activity_id="1", namespace="default", task_queue="q")
    with TracerProvider().get_tracer("test").start_as_current_span("RunActivity:oneact") as span:
        document: Any = temporal.delivery({"capability_ids": ["look"]}, info)
        assert f"{span.get_span_context().trace_id:032x}" in document["metadata"]["traceparent"]
    assert "traceparent" not in temporal.delivery({"capability_ids": ["look"]}, info)["metadata"]
