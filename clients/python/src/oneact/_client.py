"""One run of oneact for each task."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ._json import compact
from ._process import GRACE, LEFT_OPEN, PROGRESS, Settings, abandon, not_started, outcome_of, sorted_out
from ._task import Inputs, Task, present

if TYPE_CHECKING:
    from asyncio import Event

    from ._async_session import AsyncSession
    from ._outcome import Outcome
    from ._process import RunProgress
    from ._session import Session
    from ._task import StrPath
    from ._wire import Approve, AsyncApprove
    from .models import TaskDocument


class _Client:
    """What the sync and the async client share."""

    def __init__(
        self,
        root: StrPath | None = None,
        binary: StrPath | None = None,
        env: Mapping[str, str] | None = None,
        args: Sequence[str] = (),
    ) -> None:
        """How oneact is run. Nothing is started here.

        `root` is the directory of `catalog.toml`; without it, oneact looks for it from the working directory upwards.
        `binary` is the path of oneact; without it: `$ONEACT_BINARY`, the binary of this package, or the one on PATH.
        `env` are variables beside those of this process. `args` are further flags, such as `("--profile", "agent")`.
        """
        self._settings = Settings(root, binary, env, args)


def _read(task: Task | TaskDocument) -> Task:
    return task if isinstance(task, Task) else Task.of(task)


def _approved(approval_id: str) -> list[str]:
    import re

    if not re.fullmatch(r"apr_\w+", approval_id, re.ASCII):
        raise ValueError(f"the id of an approval is that of the outcome that waits, apr_…; this is {approval_id!r}")
    return ["--approved", approval_id]


def _flags(dry_run: bool, expect: str | None, wait: float | None) -> list[str]:
    return [
        *(["--dry-run"] if dry_run else []),
        *([] if expect is None else ["--expect", expect]),
        *([] if wait is None else ["--wait", f"{wait:.3f}"]),
    ]


class Oneact(_Client):
    """Performs tasks, each in a process of its own. An object may be used by several threads."""

    def perform(
        self,
        task: Task | TaskDocument,
        *,
        timeout: float | None = None,
        dry_run: bool = False,
        expect: str | None = None,
        wait: float | None = None,
    ) -> Outcome:
        """Performs the task. A fault of the task is no exception: see `Outcome.ok`.

        After `timeout` seconds, the run is cancelled, and the outcome says so. `dry_run` checks everything and starts
        nothing. `expect` is the hash of a dry run: a file plan is applied only if it makes exactly that change. If the
        task needs an approval, the run waits for it for at most `wait` seconds.
        """
        task = _read(task)
        with present(task.inputs):
            return self._run(compact(task.document), _flags(dry_run, expect, wait), timeout)

    def call(
        self,
        capability: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        inputs: Inputs = (),
        outputs: Sequence[str] = (),
        session_id: str | None = None,
        task_id: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Outcome:
        """Performs one capability, and raises the exception of its fault (`oneact.errors`)."""
        task = Task.call(
            capability,
            parameters,
            inputs=inputs,
            outputs=outputs,
            session_id=session_id,
            task_id=task_id,
            idempotency_key=idempotency_key,
        )
        return self.perform(task, timeout=timeout).raise_for_fault()

    def perform_approved(self, approval_id: str, *, timeout: float | None = None) -> Outcome:
        """Performs the stored call of a request that a person has approved."""
        return self._run(b"", _approved(approval_id), timeout)

    def session(
        self,
        *,
        session_id: str | None = None,
        approve: Approve | None = None,
        startup_timeout: float = 30.0,
    ) -> Session:
        """`oneact serve catalog`: one process for many calls. Use it with `with`.

        `approve` is asked for approvals that the catalog lets the host give (`approval.by = ["elicitation"]`): it
        returns True, False, or None for no decision. Without it, such calls wait for `oneact approve`.
        """
        from ._session import Session

        return Session(self._settings, session_id, approve, startup_timeout)

    def _run(self, stdin: bytes, flags: Sequence[str], timeout: float | None) -> Outcome:
        settings = self._settings
        argv = settings.argv(["run"], flags)
        root = settings.base()
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=settings.environment())
        except OSError as error:
            raise not_started(argv[0], error) from error
        try:
            stdout, stderr = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            stdout, stderr = _stopped(process)
        except BaseException:
            _stopped(process)
            raise
        return outcome_of(stdout, stderr, process.returncode, root)


def _stopped(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Cancels a run, which then still writes its envelope."""
    process.terminate()
    try:
        try:
            return process.communicate(timeout=GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.communicate(timeout=LEFT_OPEN)
    except subprocess.TimeoutExpired as left:
        return left.stdout or b"", left.stderr or b""
    finally:
        # Also if the caller is interrupted again.
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        process.wait()


class AsyncOneact(_Client):
    """As `Oneact`, for asyncio. Cancelling the asyncio task cancels the run, and waits until it has ended."""

    async def perform(
        self,
        task: Task | TaskDocument,
        *,
        timeout: float | None = None,
        dry_run: bool = False,
        expect: str | None = None,
        wait: float | None = None,
        stop: Event | None = None,
        progress: Callable[[RunProgress], None] | None = None,
    ) -> Outcome:
        """As `Oneact.perform`. When `stop` is set, the run is cancelled, and the outcome says so.

        `progress` gets what the run tells while it works, such as `{"tool": …, "done": 1, "total": 4, "message": …}`.
        """
        task = _read(task)
        with present(task.inputs):
            return await self._run(compact(task.document), _flags(dry_run, expect, wait), timeout, stop, progress)

    async def call(
        self,
        capability: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        inputs: Inputs = (),
        outputs: Sequence[str] = (),
        session_id: str | None = None,
        task_id: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Outcome:
        """As `Oneact.call`."""
        task = Task.call(
            capability,
            parameters,
            inputs=inputs,
            outputs=outputs,
            session_id=session_id,
            task_id=task_id,
            idempotency_key=idempotency_key,
        )
        return (await self.perform(task, timeout=timeout)).raise_for_fault()

    async def perform_approved(self, approval_id: str, *, timeout: float | None = None) -> Outcome:
        """As `Oneact.perform_approved`."""
        return await self._run(b"", _approved(approval_id), timeout)

    def session(
        self,
        *,
        session_id: str | None = None,
        approve: AsyncApprove | None = None,
        startup_timeout: float = 30.0,
    ) -> AsyncSession:
        """As `Oneact.session`, with `async with`."""
        from ._async_session import AsyncSession

        return AsyncSession(self._settings, session_id, approve, startup_timeout)

    async def _run(
        self,
        stdin: bytes,
        flags: Sequence[str],
        timeout: float | None,
        stop: Event | None = None,
        progress: Callable[[RunProgress], None] | None = None,
    ) -> Outcome:
        import asyncio

        settings = self._settings
        flags = [*flags, *(PROGRESS if progress is not None else ())]
        argv = settings.argv(["run"], flags)
        root = settings.base()
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=settings.environment()
            )
        except OSError as error:
            raise not_started(argv[0], error) from error
        # A task, so that a timeout does not lose what was read.
        reading = asyncio.ensure_future(_exchange(process, stdin, progress))
        stopping = set() if stop is None else {asyncio.ensure_future(stop.wait())}
        try:
            await asyncio.wait({reading, *stopping}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                await _stopped_async(process, reading)
        except BaseException:
            await _stopped_async(process, reading)
            raise
        finally:
            for waiting in stopping:
                waiting.cancel()
        stdout, stderr = (b"", b"") if reading.cancelled() else reading.result()
        return outcome_of(stdout, stderr, process.returncode, root)


async def _exchange(process: Any, stdin: bytes, progress: Callable[[RunProgress], None] | None) -> tuple[bytes, bytes]:
    """As `communicate` of the process; `progress` gets what is told on stderr while the process works."""
    import asyncio

    async def feed() -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(stdin)
            await process.stdin.drain()
        process.stdin.close()

    async def told() -> bytes:
        kept = begun = b""
        while some := await process.stderr.read(1 << 16):
            *lines, begun = (begun + some).split(b"\n")
            kept += sorted_out(lines, progress)
        return kept + begun

    _, stdout, stderr = await asyncio.gather(feed(), process.stdout.read(), told())
    await process.wait()
    return stdout, stderr


async def _stopped_async(process: Any, reading: Any) -> None:
    """As `_stopped`."""
    import asyncio

    try:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait({reading}, timeout=GRACE)
    finally:
        if not reading.done():
            if process.returncode is None:
                process.kill()
            try:
                await asyncio.wait({reading}, timeout=LEFT_OPEN)
            finally:
                if not reading.done():
                    reading.cancel()
                    abandon(process)
                    await asyncio.wait({reading})
