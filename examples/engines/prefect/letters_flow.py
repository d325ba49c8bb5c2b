"""A Prefect flow whose task is performed once, however often Prefect tries it: letters_flow.py TO TEXT"""

import os
import sys

import oneact
from prefect import flow, task
from prefect.runtime import flow_run, task_run


class Later(Exception):
    """A retry may help, or a person has to approve first."""


def is_later(task, run, state):
    return isinstance(state.result(raise_on_failure=False), Later)


@task(retries=5, retry_delay_seconds=[10, 30, 60, 60, 60], retry_condition_fn=is_later)
def send(to, text):
    # The same in every try of the task and of the flow run.
    name = task_run.name
    letter = oneact.Task.call(
        "send_letter", {"to": to, "text": text}, session_id=flow_run.id, task_id=name, idempotency_key=name
    )
    outcome = oneact.Oneact(os.environ["ONEACT_ROOT"]).perform(letter, timeout=120)
    if outcome.ok:
        return outcome.result
    failure = Later if outcome.recoverable or outcome.is_waiting else RuntimeError
    raise failure(f"{outcome.fault}: {outcome.message}")


@flow
def letters(to, text):
    return send(to, text)


if __name__ == "__main__":
    print(letters(*sys.argv[1:]))
