"""The sample workflow, killed at ten places. It takes minutes, so it is run by hand: `just proof-temporal`."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHandle

import services
from sample import STEPS, Machines, Sample

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
