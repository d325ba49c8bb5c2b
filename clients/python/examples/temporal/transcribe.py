"""A workflow over two machines: extract the audio of a film, transcribe it, and index the transcript.

    python3 transcribe.py worker media media    # on the machine with the media tools: task queue, root
    python3 transcribe.py worker text text      # on the machine with the speech model
    python3 transcribe.py start FILM            # s3://media/in/film.mp4, or a path on the first machine

Each machine has its own catalog, root and ledger. What one makes, the other reads from a bucket.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    import oneact
    from oneact import temporal


def task(capability: str, ref_id: str, uri: str, *made: str) -> dict[str, Any]:
    """One capability, its input, and the ref ids of what it makes."""
    given = {"ref_id": ref_id, "storage_uri": uri, "status": "stored"}
    return {"capability_ids": [capability], "input_refs_resolved": [given], "output_refs_expected": list(made)}


async def perform(queue: str, document: dict[str, Any]) -> temporal.Performed:
    return await workflow.execute_activity_method(
        temporal.Activities.perform,
        document,
        task_queue=queue,
        start_to_close_timeout=timedelta(minutes=10),
        # Without it, nobody notices that a worker has died.
        heartbeat_timeout=timedelta(seconds=5),
        retry_policy=RetryPolicy(maximum_interval=timedelta(seconds=30), maximum_attempts=20),
    )


@workflow.defn
class Transcribe:
    @workflow.run
    async def run(self, film: str) -> str:
        """Returns the URI of the transcript."""
        audio = (await perform("media", task("extract_audio", "film", film, "audio"))).files[0]
        transcript = (await perform("text", task("transcribe", "audio", audio.uri, "transcript"))).files[0]
        await perform("text", task("index", "transcript", transcript.uri))
        return transcript.uri


async def main(*arguments: str) -> None:
    client = await Client.connect(os.environ.get("TEMPORAL_ADDRESS", "127.0.0.1:7233"))
    match arguments:
        case ("worker", queue, root):
            activities = temporal.Activities(oneact.AsyncOneact(root))
            await Worker(client, task_queue=queue, workflows=[Transcribe], activities=[activities.perform]).run()
        case ("start", film):
            # The same film once more is the same workflow.
            name = f"transcribe-{os.path.basename(film)}"
            print(await client.execute_workflow(Transcribe.run, film, id=name, task_queue="media"))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
