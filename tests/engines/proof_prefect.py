"""The flow of examples/engines/prefect, whose task is tried as tried.py says: proof_prefect.py TO

The first run of the flow dies after its letter was sent.
"""

import os
import sys

from letters_flow import Later, is_later, send
from prefect import flow, task
from tried import tried


@task(retries=2, retry_delay_seconds=0, retry_condition_fn=is_later)
def send_tried(to, text):
    return tried(lambda to, text: send.fn("hello", to, text), Later, to, text)


@flow(retries=1)
def proof(to):
    send_tried(to, "Hello")
    if not os.path.exists("died"):
        open("died", "x").close()
        raise RuntimeError("the flow died")


proof(sys.argv[1])
