#!/usr/bin/env bash
# PyPI `prefect` 3.9.1: `prefect.runtime.task_run.id` stays the same if a task is retried, but not if its flow is retried.
#
# A task fails once and is retried; then the flow fails after it, and is retried. All of it is one flow run with one id. The
# task, which had completed, runs again, as a new task run with another id and another name:
#
#   flow run A, task run A, run count 1
#   flow run A, task run A, run count 2
#   flow run A, task run B, run count 1
#
# One would guess that the id of a task run names the work, however often it is tried, as the id of the flow run does.
# Whoever sends it to a service as an idempotency key sends two keys for one piece of work.
#
# Installs the package in a temporary directory. Exits with 1 if it behaves otherwise.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check prefect==3.9.1
export PREFECT_HOME="$place/prefect" PREFECT_SERVER_ANALYTICS_ENABLED=false PREFECT_LOGGING_LEVEL=CRITICAL
export PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS=300
cat >flow.py <<'PYTHON'
from prefect import flow, task
from prefect.runtime import flow_run, task_run

letters = {}
runs = []


@task(retries=1)
def pay():
    names = [letters.setdefault(run.id, "B" if runs else "A") for run in (flow_run, task_run)]
    runs.append(task_run.id)
    print(f"flow run {names[0]}, task run {names[1]}, run count {task_run.run_count}")
    if len(runs) == 1:
        raise RuntimeError("the first try")


@flow(retries=1)
def order():
    pay()
    if len(runs) == 2:
        raise RuntimeError("after the task")


order()
PYTHON
told=$(venv/bin/python flow.py)
echo "$told"
[ "$told" = "flow run A, task run A, run count 1
flow run A, task run A, run count 2
flow run A, task run B, run count 1" ]
