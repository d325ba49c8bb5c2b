"""The job of examples/engines/dagster, whose op is tried as tried.py says: proof_dagster.py TO

A run that ends well is executed again from its beginning.
"""

import sys

from dagster import (
    DagsterInstance,
    OpExecutionContext,
    ReexecutionOptions,
    RetryPolicy,
    execute_job,
    job,
    op,
    reconstructable,
)
from letters_job import Letter, send
from tried import tried


@op(retry_policy=RetryPolicy(max_retries=2))
def send_tried(context: OpExecutionContext, config: Letter):
    def perform(to, text):
        return send.compute_fn.decorated_fn(context, Letter(to=to, text=text))

    return tried(perform, RuntimeError, config.to, config.text)


@job
def proof():
    send_tried()


if __name__ == "__main__":
    instance = DagsterInstance.get()
    letter = {"ops": {"send_tried": {"config": {"to": sys.argv[1], "text": "Hello"}}}}
    with execute_job(reconstructable(proof), instance, run_config=letter) as run:
        if not run.success:
            sys.exit(1)
    again = ReexecutionOptions(parent_run_id=run.run_id)
    with execute_job(reconstructable(proof), instance, run_config=letter, reexecution_options=again) as run:
        sys.exit(not run.success)
