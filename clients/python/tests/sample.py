"""The sample workflow of examples/temporal on real servers: two workers, Temporal, a bucket, and PostgreSQL for the ledger."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHandle

import services
from conftest import CLIENT, HERE, REPOSITORY
from oneact._process import found

EXAMPLE = CLIENT / "examples" / "temporal"
# The tool of each step, and the task queue of its worker.
STEPS = {"audio_extractor": "media", "transcriber": "text", "result_indexer": "text"}


class Machines:
    """The servers, which several workflows use one after another."""

    def __init__(self, directory: Path, shared_ledger: bool) -> None:
        self.ports = {name: services.free_port() for name in ("temporal", "s3", "ledger")}
        self.services = {
            "temporal": services.temporal(directory, self.ports["temporal"]),
            "s3": services.seaweed(directory, self.ports["s3"]),
        }
        self.env = {
            **os.environ,
            **services.KEYS,
            "TEMPORAL_ADDRESS": f"127.0.0.1:{self.ports['temporal']}",
            "PYTHONPATH": str(CLIENT / "src"),
            "PATH": f"{services.INSTALLED / 'models' / 'bin'}:{os.environ['PATH']}",
            "ONEACT_BINARY": found(),
        }
        services.wait_for("the bucket", lambda: self._has_bucket(directory / "ready"))
        # A worker that does not reach Temporal at its start ends.
        asyncio.run(services.connected(self.ports["temporal"]))
        if shared_ledger:
            self.services["ledger"] = services.postgres(directory, self.ports["ledger"])
            self.env["ONEACT_LEDGER"] = f"postgres://postgres@127.0.0.1:{self.ports['ledger']}/postgres"

    def _has_bucket(self, root: Path) -> bool:
        """SeaweedFS answers before it has its bucket, and oneact takes a bucket that is missing for a mistake."""
        root.mkdir(exist_ok=True)
        storage = f'uri = "s3://media/assets"\nendpoint = "http://127.0.0.1:{self.ports["s3"]}"\n'
        (root / "catalog.toml").write_text(f"catalog = 1\n[storage]\n{storage}", encoding="utf-8")
        doctor = [found(), "doctor", "--root", str(root)]
        told = subprocess.run(doctor, env=self.env, capture_output=True, text=True, check=False)
        return "s3://media/assets can be written to" in " ".join(told.stdout.split())

    def close(self) -> None:
        for service in self.services.values():
            service.kill()


class Sample:
    """One workflow, its two roots and their workers."""

    def __init__(self, machines: Machines, directory: Path) -> None:
        self.machines = machines
        self.directory = directory
        self.film = Path(
            shutil.copy(REPOSITORY / "fixtures" / "media" / "fox.mp4", directory / f"{directory.name}.mp4")
        )
        for queue in ("media", "text"):
            catalog = Path(shutil.copytree(EXAMPLE / queue, directory / queue)) / "catalog.toml"
            text = catalog.read_text(encoding="utf-8")
            text = text.replace("127.0.0.1:8333", f"127.0.0.1:{machines.ports['s3']}")
            text = text.replace("{root}/../../../../..", str(REPOSITORY))
            text = text.replace("command = [", f'command = ["python3", "{HERE}/fake/gate.py", "{{root}}", ')
            catalog.write_text(text, encoding="utf-8")
        self.workers = {queue: self._worker(queue) for queue in ("media", "text")}

    def _worker(self, queue: str) -> services.Service:
        argv: list[str | Path] = [sys.executable, EXAMPLE / "transcribe.py", "worker", queue, self.directory / queue]
        return services.Service(argv, self.directory / f"{queue}.log", self.machines.env)

    async def start(self) -> WorkflowHandle[Any, str]:
        client = await services.connected(self.machines.ports["temporal"])
        name = f"transcribe-{self.film.name}"
        return await client.start_workflow("Transcribe", str(self.film), id=name, task_queue="media", result_type=str)

    def hold(self, tool: str) -> Path:
        held = self.directory / STEPS[tool] / f"hold-{tool}"
        held.touch()
        return held

    def calls(self, tool: str) -> int:
        calls = self.directory / STEPS[tool] / "calls"
        return calls.read_text(encoding="utf-8").split("\n").count(tool) if calls.exists() else 0

    def runs(self, queue: str) -> list[int]:
        """The processes of oneact that perform a task in this root."""
        here = services.processes(self.directory / queue)
        return [number for number, argv in here.items() if argv[0] == found() and "run" in argv]

    async def finished(self, handle: WorkflowHandle[Any, str]) -> None:
        """Waits for the end, and checks that each effect is there once, and nothing besides."""
        uri = await asyncio.wait_for(handle.result(), 120)
        assert uri.startswith("s3://media/assets/") and uri.endswith("/transcript.json")
        assert self._objects() == ["audio.wav", "transcript.json"]
        with sqlite3.connect(self.directory / "text" / ".oneact" / "data.db") as data:
            [[entries]] = data.execute("SELECT count(*) FROM document")
        data.close()
        assert entries == 1
        services.wait_for("the end of all runs", lambda: not self.runs("media") and not self.runs("text"))
        for queue in self.workers:
            argv = [found(), "verify", "--root", str(self.directory / queue)]
            subprocess.run(argv, check=True, capture_output=True, env=self.machines.env)

    def _objects(self) -> list[str]:
        endpoint = f"http://127.0.0.1:{self.machines.ports['s3']}"
        aws = str(services.INSTALLED / "s3" / "bin" / "aws")
        argv = [
            aws,
            "--endpoint-url",
            endpoint,
            "--region",
            "us-east-1",
            "s3",
            "ls",
            "--recursive",
            "s3://media/assets/",
        ]
        listed = subprocess.run(argv, check=True, capture_output=True, text=True, env=self.machines.env).stdout
        keys = [line.split()[-1] for line in listed.splitlines()]
        return sorted(key.rsplit("/", 1)[1] for key in keys if f"/transcribe-{self.directory.name}_mp4-" in key)

    def close(self) -> None:
        for worker in self.workers.values():
            worker.kill()
