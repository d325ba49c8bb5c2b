"""An Airflow DAG whose task is performed once, however often Airflow tries it."""

import os
from datetime import timedelta

import oneact
from airflow.sdk import dag, get_current_context, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException


@task(retries=5, retry_delay=timedelta(seconds=10), retry_exponential_backoff=True)
def send(to, text):
    ti = get_current_context()["ti"]
    # The same in every try, also after the task was cleared. A session id has no slashes.
    name = f"{ti.task_id}.{ti.map_index}"
    letter = oneact.Task.call(
        "send_letter",
        {"to": to, "text": text},
        session_id=f"{ti.dag_id}.{ti.run_id}",
        task_id=name,
        idempotency_key=name,
    )
    outcome = oneact.Oneact(os.environ["ONEACT_ROOT"]).perform(letter, timeout=120)
    if outcome.ok:
        return outcome.result
    # A later try goes on after an approval, too.
    failure = AirflowException if outcome.recoverable or outcome.is_waiting else AirflowFailException
    raise failure(f"{outcome.fault}: {outcome.message}")


@dag(schedule=None, params={"to": "ada@example.org", "text": "Hello"})
def letters():
    send("{{ params.to }}", "{{ params.text }}")


letters()
