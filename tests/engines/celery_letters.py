"""The app of examples/engines/celery with a queue in the root: celery_letters.py performs letters by its worker.

Prints what each came to, as JSON: a letter, the same delivery again, a letter to nobody, and one whose soft time
limit is over while it is sent.
"""

import json
import os
import signal
import subprocess
import sys
import time

from letters_app import app, send_letter

for name in ("queue", "control", "results"):
    os.makedirs(name, exist_ok=True)
app.conf.result_backend = "file://" + os.path.abspath("results")
app.conf.broker_transport_options = {
    "data_folder_in": "queue", "data_folder_out": "queue", "control_folder": "control", "store_processed": False,
}


def ask(name, to, text):
    return send_letter.apply_async((to, text), task_id=name)


def came_to(result):
    try:
        return result.get(timeout=120)
    except Exception as failed:
        return type(failed).__name__


def until(found):
    while not found():
        time.sleep(0.05)


def main():
    worker = [sys.executable, "-m", "celery", "-A", "celery_letters", "worker", "--concurrency=1", "--loglevel=warning"]
    with subprocess.Popen(worker, stdout=sys.stderr) as worker:
        try:
            one = [came_to(ask("one", "ada@example.org", "Hello")) for _ in range(2)]
            bad = came_to(ask("bad", "nobody", "Hello"))
            os.replace("slow.toml", "catalog.toml")
            slow = ask("slow", "ada@example.org", "Slow")
            until(lambda: "Slow" in open("sent").read())
            # The signal by which the worker tells its child that the soft time limit is over.
            for child in open(f"/proc/{worker.pid}/task/{worker.pid}/children").read().split():
                os.kill(int(child), signal.SIGUSR1)
            print(json.dumps({"one": one, "bad": bad, "slow": came_to(slow)}))
        finally:
            worker.terminate()


if __name__ == "__main__":
    main()
