#!/usr/bin/env bash
# PyPI `celery` 5.7.0 with the default pool (prefork): a program that a task starts has SIGINT ignored, and SIGTERM not.
#
#   {"SIGINT": true, "SIGTERM": false, "ended by SIGINT": false}
#
# One would guess that a program starts with the default signals, as from any Python program. The children of the pool
# ignore SIGINT, so that Ctrl-C at a worker reaches the parent only; an ignored signal stays ignored across exec. A program
# that a task ends politely with SIGINT goes on.
#
# Installs the package in a temporary directory. Exits with 1 if it behaves otherwise.
set -euo pipefail
place=$(mktemp -d)
worker=
trap 'kill $worker 2>/dev/null || true; wait $worker 2>/dev/null || true; rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check celery==5.7.0
mkdir queue results
cat >tasks.py <<'PYTHON'
import os, signal, subprocess, time
from celery import Celery

app = Celery("tasks", broker="filesystem://", backend=f"file://{os.getcwd()}/results")
app.conf.broker_transport_options = {"data_folder_in": "queue", "data_folder_out": "queue", "control_folder": "queue"}


@app.task
def started():
    with subprocess.Popen(["sleep", "60"]) as program:
        while open(f"/proc/{program.pid}/comm").read() != "sleep\n":
            time.sleep(0.01)
        status = open(f"/proc/{program.pid}/status").read()
        ignored = int(status.split("SigIgn:")[1].split()[0], 16)
        found = {name: bool(ignored >> getattr(signal, name) - 1 & 1) for name in ("SIGINT", "SIGTERM")}
        program.send_signal(signal.SIGINT)
        time.sleep(1)
        found["ended by SIGINT"] = program.poll() is not None
        program.kill()
    return found
PYTHON
venv/bin/celery -A tasks worker --concurrency 1 --loglevel error >log 2>&1 &
worker=$!
told=$(venv/bin/python -c 'import json, tasks; print(json.dumps(tasks.started.delay().get(timeout=60)))')
echo "$told"
[ "$told" = '{"SIGINT": true, "SIGTERM": false, "ended by SIGINT": false}' ]
