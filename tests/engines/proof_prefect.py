"""The flow of examples/engines/prefect, whose task is tried as tried.py says: proof_prefect.py TO"""

import sys

from letters_flow import Later, is_later, send
from prefect import flow, task
from tried import tried


@task(retries=2, retry_delay_seconds=0, retry_condition_fn=is_later)
def send_tried(to, text):
    return tried(send.fn, Later, to, text)


@flow
def proof(to):
    return send_tried(to, "Hello")


proof(sys.argv[1])
