"""An engine that retries a task whose exit code is 75: retries.py celery|temporal ONEACT ROOT

The server is down while the file `down` exists, which the third attempt removes. Each attempt sends the same task with the same
idempotency key, as engines do. Prints the exit codes of the attempts as JSON, and of one delivery after the last.
"""

import asyncio
import json
import os
import subprocess
import sys
from datetime import timedelta

ENGINE, ONEACT, ROOT = sys.argv[1:]
TASK = {
    "dispatch": {"task_id": "pay", "capability_ids": ["once"],
                 "parameters": {"result": json.dumps({"content": [{"type": "text", "text": "paid"}]})}},
    "metadata": {"session_id": "engine", "idempotency_key": "workflow/activity"},
}
exits = []


class Later(Exception):
    """Exit code 75."""


def attempt():
    if len(exits) == 2:
        os.remove(os.path.join(ROOT, "down"))
    done = subprocess.run([ONEACT, "run", "--root", ROOT, "--quiet"], input=json.dumps(TASK), capture_output=True, text=True)
    exits.append(done.returncode)
    if done.returncode == 75:
        raise Later(done.stdout)
    return json.loads(done.stdout)["output"]["content"]["oneact"]["state"]


def with_celery():
    from celery import Celery

    app = Celery("engine", broker="memory://", backend="cache+memory://")
    app.conf.task_always_eager = True

    @app.task(autoretry_for=(Later,), retry_kwargs={"max_retries": 5, "countdown": 0})
    def pay():
        return attempt()

    return pay.delay().get()


if ENGINE == "temporal":
    from temporalio import activity, workflow
    from temporalio.common import RetryPolicy
    from temporalio.testing import WorkflowEnvironment
    from temporalio.worker import UnsandboxedWorkflowRunner, Worker

    @activity.defn
    async def pay() -> str:
        return await asyncio.to_thread(attempt)

    @workflow.defn(sandboxed=False)
    class Pay:
        @workflow.run
        async def run(self) -> str:
            return await workflow.execute_activity(
                pay, start_to_close_timeout=timedelta(seconds=30),
                retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=50), maximum_attempts=5))


async def with_temporal():
    server = os.path.join(os.path.dirname(sys.executable), "temporal")
    environment = await WorkflowEnvironment.start_local(dev_server_existing_path=server)
    async with environment, Worker(environment.client, task_queue="q", workflows=[Pay], activities=[pay],
                                   workflow_runner=UnsandboxedWorkflowRunner()):
        return await environment.client.execute_workflow(Pay.run, id="pay", task_queue="q")


state = with_celery() if ENGINE == "celery" else asyncio.run(with_temporal())
again = attempt()
print(json.dumps({"exits": exits, "states": [state, again]}))
