"""A Celery task that is performed once, however often a worker gets it: celery -A letters_app worker"""

import os

import oneact
from celery import Celery

app = Celery("letters_app", broker=os.environ["CELERY_BROKER"])
# A task whose worker dies is delivered again.
app.conf.update(task_acks_late=True, task_reject_on_worker_lost=True)


class Later(Exception):
    """A retry may help."""


# At the soft limit, the client ends the run with SIGTERM, and gives it 12 seconds. The hard limit is SIGKILL.
@app.task(bind=True, autoretry_for=(Later,), max_retries=5, retry_backoff=True, soft_time_limit=120, time_limit=140)
def send_letter(self, to, text):
    task = oneact.Task.call(
        "send_letter",
        {"to": to, "text": text},
        session_id="celery",
        task_id=self.request.id,
        idempotency_key=self.request.id,  # the same in every retry and redelivery
    )
    outcome = oneact.Oneact(os.environ["ONEACT_ROOT"]).perform(task)
    if outcome.recoverable:
        raise Later(f"{outcome.fault}: {outcome.message}")
    if not outcome.ok:
        raise RuntimeError(f"{outcome.fault}: {outcome.message}")
    return outcome.result
