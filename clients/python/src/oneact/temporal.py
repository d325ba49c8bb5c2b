"""oneact in Temporal: an activity that performs one task, in a workflow or standing alone.

    worker = Worker(client, task_queue="media", activities=[Activities(oneact.AsyncOneact("/srv/media")).perform])

It needs the package `temporalio` (`pip install 'oneact[temporal]'`). Temporal decides when a task is sent again, and oneact
whether it is performed again: every attempt sends the same task under the same key.
"""

# No `from __future__ import annotations`: the sandbox of workflows could not resolve the types of `Performed`.
import asyncio
import copy
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

try:
    from temporalio import activity
    from temporalio.client import AsyncActivityCancelledError, AsyncActivityHandle
    from temporalio.exceptions import ApplicationError
    from temporalio.service import RPCError, RPCStatusCode
except ImportError as error:
    raise ImportError("oneact.temporal needs the package temporalio: pip install 'oneact[temporal]'") from error

from ._client import AsyncOneact
from ._outcome import Outcome
from ._process import RunProgress
from .errors import NoEnvelope

if TYPE_CHECKING:
    from .models import TaskDocument

# Temporal takes no payload of more than 2 MiB. A larger result is a reference.
LARGEST_RESULT = 1 << 20
# The longest time between two heartbeats, in seconds.
HEARTBEAT = 5.0
# The longest time for which a run waits for its approval, in seconds: no request lives longer.
APPROVAL = 24 * 3600.0
# The longest delay that a server may ask for (Retry-After).
LONGEST_DELAY = timedelta(days=1)
# Where a task can name its key, beside `metadata`.
KEYS: tuple[tuple[str, ...], ...] = ((), ("dispatch",), ("output", "content", "dispatch"))
# How much of the text of a progress a heartbeat has.
LONGEST_TEXT = 500


@dataclass(frozen=True)
class MadeFile:
    """An asset that was made and stored."""

    ref_id: str
    uri: str
    asset_type: str


@dataclass(frozen=True)
class Performed:
    """The result of the activity: what a task that succeeded has given."""

    # `done`; or, of an answer from the ledger, `replayed`, `reused` or `suppressed`.
    state: str
    # The result data. A large one is a reference: `{"$blob": {"storage_uri": …}}` to what oneact has stored, or, for the
    # report of a large file plan, `{"$operation": …}`, which `oneact show` prints.
    result: Any
    files: list[MadeFile]
    session_id: str
    operation_id: str


class Activities:
    """Has the activity, for the `activities` of a worker. What it may perform stands in the catalog of `client`."""

    def __init__(self, client: AsyncOneact) -> None:
        self._client = copy.copy(client)
        # Not even a worker that is killed leaves a run behind.
        self._client._settings = client._settings.tied()
        self._waiting: set[asyncio.Task[None]] = set()

    @activity.defn(name="oneact")
    async def perform(self, task: Mapping[str, Any]) -> Performed:
        """Performs a task document of any form (`oneact schema task`).

        A task that does not succeed raises an `ApplicationError`. Its type is the class of the fault, and its detail has
        `effect`, `recoverable`, `session_id` and `operation_id`. A task that needs an approval is completed later.
        """
        info = activity.info()
        document = delivery(task, info)
        stop = asyncio.Event()
        running = asyncio.ensure_future(self._run(document, stop, activity.heartbeat, _interval(info)))
        try:
            outcome = await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.set()
            cause = activity.cancellation_details()
            try:
                outcome = await running
                if not outcome.ok:
                    raise failure(outcome, again=outcome.recoverable)
            except ApplicationError as ended:
                # A worker that stops hands over what may be repeated.
                if cause is not None and cause.worker_shutdown:
                    raise
                activity.logger.warning("oneact was cancelled: %s: %s", ended, ended.details)
                raise asyncio.CancelledError from ended
        if outcome.approval_id is not None and not info.is_local:
            handle = activity.client().get_async_activity_handle(task_token=info.task_token)
            later = asyncio.ensure_future(self._complete(document, handle, _interval(info)))
            self._waiting.add(later)
            later.add_done_callback(self._waiting.discard)
            activity.raise_complete_async()
        return performed(outcome)

    async def _complete(self, document: "TaskDocument", handle: AsyncActivityHandle, interval: float) -> None:
        """Waits for the approval, performs the task and completes the activity.

        If this worker dies, the heartbeats end, and the next attempt waits for the same approval.
        """
        stop = asyncio.Event()
        told: list[RunProgress] = [{}]
        beating = asyncio.ensure_future(_beat(handle, told, interval, stop))
        send: Awaitable[None]
        try:
            outcome = await self._run(document, stop, lambda last: told.__setitem__(0, last), interval, APPROVAL)
            if stop.is_set() and not outcome.ok:
                send = handle.report_cancellation()
            else:
                send = handle.complete(performed(outcome))
        except Exception as ended:
            send = handle.fail(ended)
        finally:
            beating.cancel()
        # If Temporal does not get it, the next attempt gets the answer from the ledger.
        with suppress(RPCError):
            await send

    async def _run(
        self,
        document: "TaskDocument",
        stop: asyncio.Event,
        heartbeat: Callable[[RunProgress], None],
        interval: float,
        wait: float | None = None,
    ) -> Outcome:
        """One run. `heartbeat` gets what the run tells, and all the same while it tells nothing."""
        last: RunProgress = {}
        begin = time.monotonic()

        def tell(progress: RunProgress) -> None:
            last.update({name: v[:LONGEST_TEXT] if isinstance(v, str) else v for name, v in progress.items()})
            last["elapsed_ms"] = int((time.monotonic() - begin) * 1000)
            heartbeat(dict(last))

        async def tick() -> None:
            while True:
                tell({})
                await asyncio.sleep(interval)

        ticking = asyncio.ensure_future(tick())
        try:
            return await self._client.perform(document, wait=wait, stop=stop, progress=tell)
        except NoEnvelope as lost:
            # The run was killed. The ledger knows whether it may be performed again.
            raise ApplicationError(str(lost), type="no_envelope") from lost
        except ValueError as wrong:
            raise ApplicationError(str(wrong), type="invalid_json", non_retryable=True) from wrong
        finally:
            ticking.cancel()


async def _beat(handle: AsyncActivityHandle, told: list[RunProgress], interval: float, stop: asyncio.Event) -> None:
    """The heartbeats of an activity that is completed later. Sets `stop` if nobody wants its result any more."""
    while True:
        try:
            await handle.heartbeat(*told)
        except AsyncActivityCancelledError:
            return stop.set()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return stop.set()
        await asyncio.sleep(interval)


def _interval(info: activity.Info) -> float:
    timeout = info.heartbeat_timeout
    return min(HEARTBEAT, timeout.total_seconds() / 3) if timeout else HEARTBEAT


def delivery(task: Mapping[str, Any], info: activity.Info) -> "TaskDocument":
    """The task with the names of its delivery, which are the same for all attempts.

    The session is that of the workflow and of the task queue, because a session belongs to one root. The idempotency key
    is WORKFLOW_ID/ACTIVITY_ID; of an activity that stands alone, its id. What the task names itself is kept.
    """
    owner = info.workflow_id or info.activity_id
    whole = json.dumps([info.namespace, info.task_queue, bool(info.workflow_id), owner])
    session = f"{_plain(owner)}-{sha256(whole.encode()).hexdigest()[:12]}"
    key = f"{info.workflow_id}/{info.activity_id}" if info.workflow_id else info.activity_id
    document = dict(task)
    metadata = document["metadata"] = _given(task.get("metadata"))
    if task.get("sessionId") is None:
        metadata.setdefault("session_id", session)
    if all(_at(task, path).get("idempotency_key") is None for path in KEYS):
        metadata.setdefault("idempotency_key", key)
    for name, value in _trace().items():
        metadata.setdefault(name, value)
    if "capability_ids" in task:
        document.setdefault("task_id", f"activity_{_plain(info.activity_id)}")
    return cast("TaskDocument", document)


def _trace() -> dict[str, str]:
    """The trace to which the activity belongs, if it has one: that of Temporal's `OpenTelemetryPlugin` or interceptor."""
    carrier: dict[str, str] = {}
    with suppress(ImportError):
        from opentelemetry import propagate

        propagate.inject(carrier)
    return {name: carrier[name] for name in ("traceparent", "tracestate") if name in carrier}


def _at(task: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    place: Any = task
    for name in path:
        place = place.get(name) if isinstance(place, Mapping) else None
    return place if isinstance(place, Mapping) else {}


def _given(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (metadata or {}).items() if value is not None}


def _plain(name: str) -> str:
    return re.sub("[^A-Za-z0-9_-]", "_", name)[:80]


def performed(outcome: Outcome) -> Performed:
    """The result of the activity. A task that did not succeed raises its failure."""
    if not outcome.ok:
        raise failure(outcome, again=may_retry(outcome))
    assert outcome.state is not None and outcome.operation_id is not None
    result = outcome.inline_result
    if (size := len(json.dumps(result))) > LARGEST_RESULT:
        result = {"$operation": outcome.operation_id, "bytes": size}
    files = [MadeFile(file.ref_id, file.uri, file.asset_type) for file in outcome.files]
    return Performed(outcome.state, result, files, outcome.session_id, outcome.operation_id)


def may_retry(outcome: Outcome) -> bool:
    """Whether Temporal sends the task again.

    oneact says that this may help (exit code 75), or another run or a person is in the way (3). It says so after an unknown
    effect only if the call may be repeated. After any other end, such as 143, an unknown effect is never retried. Neither is
    a failure that the ledger has returned: the same key gets it for ever.
    """
    if not outcome.recoverable or outcome.state == "replayed":
        return False
    return outcome.exit_code in (3, 75) or outcome.effect != "unknown"


def failure(outcome: Outcome, *, again: bool) -> ApplicationError:
    """What Temporal gets of a task that did not succeed."""
    return ApplicationError(
        outcome.message or str(outcome.fault),
        _facts(outcome),
        type=outcome.fault,
        non_retryable=not again,
        next_retry_delay=retry_after(outcome.message or "") if again else None,
    )


def _facts(outcome: Outcome) -> dict[str, Any]:
    names = ("state", "effect", "recoverable", "exit_code", "session_id", "operation_id")
    return {name: getattr(outcome, name) for name in names}


def retry_after(message: str) -> timedelta | None:
    """The delay that a server asks for: `(Retry-After: SECONDS or DATE)` in the message of a failure."""
    found = re.search(r"\(retry-after: *([^()]+)\)", message, re.IGNORECASE)
    if found is None:
        return None
    try:
        if re.fullmatch("[0-9]+", found[1], re.ASCII):
            delay = timedelta(seconds=min(int(found[1][:9]), LONGEST_DELAY.total_seconds()))
        else:
            delay = parsedate_to_datetime(found[1]) - datetime.now(timezone.utc)
    except (TypeError, ValueError):
        return None
    return min(max(delay, timedelta()), LONGEST_DELAY)
