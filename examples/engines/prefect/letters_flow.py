"""A Prefect flow whose task is performed once, however often Prefect tries it: letters_flow.py NAME TO TEXT"""

import os
import sys

import oneact
from prefect import flow, task
from prefect.runtime import flow_run


class Later(Exception):
    """A retry may help, or a person has to approve first."""


def is_later(task, run, state):
    return isinstance(state.result(raise_on_failure=False), Later)


@task(retries=5, retry_delay_seconds=[10, 30, 60, 60, 60], retry_condition_fn=is_later)
def send(name, to, text):
    # A retry of the flow run gives every task run another id and another name, so the caller names the letter.
    letter = oneact.Task.call(
        "send_letter", {"to": to, "text": text}, session_id=flow_run.id, task_id=name, idempotency_key=name
    )
    outcome = oneact.Oneact(os.environ["ONEACT_ROOT"]).perform(letter, timeout=120)
    if outcome.ok:
        return outcome.result
    failure = Later if outcome.recoverable or outcome.is_waiting else RuntimeError
    raise failure(f"{outcome.fault}: {outcome.message}")


@flow
def letters(name, to, text):
    return send(name, to, text)


if __name__ == "__main__":
    print(letters(*sys.argv[1:]))
