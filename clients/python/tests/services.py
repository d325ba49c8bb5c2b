"""Real servers for the tests of oneact.temporal: Temporal, SeaweedFS and PostgreSQL. Each keeps its data when it is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from temporalio.client import Client

from conftest import REPOSITORY

INSTALLED = Path(os.environ.get("ONEACT_TEST_SERVERS", REPOSITORY / "target" / "test-servers"))
KEYS = {"AWS_ACCESS_KEY_ID": "testkey4711aaaa", "AWS_SECRET_ACCESS_KEY": "testsecret4711bbbbcccc"}
PATIENCE = 45.0


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


class Service:
    """A process in a group of its own."""

    def __init__(self, argv: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None) -> None:
        self._argv = argv
        self._log = log
        self._env = {**os.environ, **(env or {})}
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._env, start_new_session=True
            )

    def kill(self) -> None:
        """As the kernel kills it when memory is short: it learns nothing of it."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def kill_alone(self) -> None:
        self.process.kill()
        self.process.wait()


def temporal(directory: Path, port: int) -> Service:
    argv: list[str | Path] = [
        INSTALLED / "engines" / "bin" / "temporal",
        "server",
        "start-dev",
        "--headless",
        "--log-level",
        "error",
    ]
    argv += ["--ip", "127.0.0.1", "--port", str(port), "--db-filename", directory / "temporal.db"]
    return Service(argv, directory / "temporal.log", {"HOME": str(directory)})


async def connected(port: int) -> Client:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return await Client.connect(f"127.0.0.1:{port}")
        except RuntimeError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def seaweed(directory: Path, port: int) -> Service:
    """With the bucket `media`."""
    (directory / "s3").mkdir()
    argv: list[str | Path] = [
        INSTALLED / "s3" / "bin" / "weed",
        "mini",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        f"-dir={directory}/s3",
    ]
    argv += [f"-s3.port={port}", "-bucket=media"]
    for name in ("s3", "master", "volume", "filer", "admin"):
        argv += [f"-{name}.port={free_port()}"] if name != "s3" else []
        argv += [f"-{name}.port.grpc={free_port()}"]
    argv += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.autoCreateBucket=false", "-webdav=false"]
    argv += ["-admin.ui=false", "-master.telemetry=false"]
    return Service(argv, directory / "s3.log", KEYS)


def postgres(directory: Path, port: int) -> Service:
    """With the user and the database `postgres`, without a password. PostgreSQL refuses to run as root."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
    data = directory / "postgres"
    data.mkdir()
    other: list[str] = []
    if os.getuid() == 0:
        subprocess.run(["chown", "postgres", data], check=True)
        for parent in [directory, *directory.parents[:-2]]:
            parent.chmod(parent.stat().st_mode | 0o011)
        other = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    make: list[str | Path] = [
        *other,
        programs / "initdb",
        "-D",
        data / "data",
        "-U",
        "postgres",
        "-A",
        "trust",
        "--no-sync",
    ]
    subprocess.run(make, check=True, capture_output=True, cwd="/")
    argv: list[str | Path] = [*other, programs / "postgres", "-D", data / "data", "-k", data, "-p", str(port)]
    return Service([*argv, "-c", "listen_addresses=127.0.0.1"], directory / "postgres.log")


def processes(root: Path) -> dict[int, list[str]]:
    """The processes whose command line or working directory names something below the root."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            argv = (entry / "cmdline").read_bytes().decode().split("\0")[:-1]
            place = os.readlink(entry / "cwd")
        except OSError:
            continue
        if argv and any(str(root) in text for text in (*argv, place)):
            found[int(entry.name)] = argv
    return found


def wait_for(what: str, is_there: object) -> None:
    """Until the function returns something true."""
    assert callable(is_there)
    end = time.monotonic() + PATIENCE
    while not is_there():
        assert time.monotonic() < end, f"{what} does not happen"
        time.sleep(0.02)
