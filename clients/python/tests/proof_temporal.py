"""The sample workflow, killed at ten places, and a worker that waits. It takes minutes, so it is run by hand: `just proof temporal`."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHandle
from temporalio.worker import Worker

import services
from sample import STEPS, Machines, Sample
from test_temporal import One, bank, command, lines, other_worker, pay, port, start, until, waiting

# Fixtures.
__all__ = ["bank", "port"]
pytestmark = pytest.mark.timeout(180)

PLACES = [
    *[("worker", tool) for tool in STEPS],
    *[("oneact", tool) for tool in STEPS],
    ("temporal", "transcriber"),
    ("ledger", "transcriber"),
    ("s3", "audio_extractor"),
    ("s3", "transcriber"),
]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    machines = Machines(tmp_path_factory.mktemp("machines"), shared_ledger=True)
    yield machines
    machines.close()


async def has_failed(handle: WorkflowHandle[Any, str]) -> bool:
    """Whether the activity that is under way has failed once."""
    return any(one.attempt > 1 for one in (await handle.describe()).raw_description.pending_activities)


@pytest.mark.parametrize(("victim", "tool"), PLACES)
def test_a_workflow_that_is_killed_ends_right(machines: Machines, tmp_path: Path, victim: str, tool: str) -> None:
    directory = tmp_path / f"{victim}-{tool}"
    directory.mkdir()
    sample = Sample(machines, directory)

    async def test() -> None:
        held = sample.hold(tool)
        handle = await sample.start()
        await asyncio.to_thread(services.wait_for, "the call", lambda: sample.calls(tool) == 1)
        queue = STEPS[tool]
        if victim == "worker":
            sample.workers[queue].kill_alone()
            await asyncio.to_thread(services.wait_for, "the end of the run", lambda: not sample.runs(queue))
            held.unlink()
            sample.workers[queue].start()
        elif victim == "oneact":
            [run] = sample.runs(queue)
            os.kill(run, signal.SIGKILL)
            held.unlink()
        else:
            service = machines.services[victim]
            service.kill()
            held.unlink()
            # Temporal comes back by itself; the others stay away until a run has failed for it.
            try:
                while victim != "temporal" and not await has_failed(handle):
                    await asyncio.sleep(0.2)
            finally:
                service.start()
        await sample.finished(handle)
        print(f"{victim} during {tool}: {[sample.calls(each) for each in STEPS]} calls")

    try:
        asyncio.run(test())
    finally:
        sample.close()


def test_a_request_whose_worker_is_killed_waits_on(port: int, bank: Path) -> None:
    async def test() -> None:
        client = await services.connected(port)
        async with Worker(client, task_queue=bank.parent.name, workflows=[One]):
            handle = await start(client, bank, pay("fine", "pay_approved"))
            worker = other_worker(port, bank)
            await until("a request", lambda: waiting(bank))
            # The run that waits for the approval.
            await until("a run that waits", lambda: "--wait" in str(services.processes(bank)))
            worker.kill()
            worker.wait()
            await until("the end of all processes", lambda: not services.processes(bank))
            worker = other_worker(port, bank)
            await until("a run that waits", lambda: "--wait" in str(services.processes(bank)))
            command(bank, "approve", waiting(bank), "--key", str(bank / "key"))
            assert (await handle.result()).result == {"text": "paid"}
            worker.kill()
            worker.wait()

    asyncio.run(test())
    assert lines(bank, "paid") == ["fine"]
