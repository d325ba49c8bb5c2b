"""A Dagster job whose op is performed once, however often Dagster tries it: dagster dev -f letters_job.py"""

import os

import oneact
from dagster import Config, Failure, OpExecutionContext, RetryPolicy, job, op


class Letter(Config):
    to: str
    text: str


@op(retry_policy=RetryPolicy(max_retries=5, delay=10))
def send(context: OpExecutionContext, config: Letter):
    # A re-execution has another run id, but the same root.
    run = context.run.root_run_id or context.run_id
    name = str(context.op_handle)
    letter = oneact.Task.call(
        "send_letter",
        {"to": config.to, "text": config.text},
        session_id=run,
        task_id=name,
        idempotency_key=name,
    )
    outcome = oneact.Oneact(os.environ["ONEACT_ROOT"]).perform(letter, timeout=120)
    if outcome.ok:
        return outcome.result
    raise Failure(
        f"{outcome.fault}: {outcome.message}",
        metadata={"effect": str(outcome.effect), "operation": str(outcome.operation_id)},
        allow_retries=outcome.recoverable or outcome.is_waiting,
    )


@job
def letters():
    send()
