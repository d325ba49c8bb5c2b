"""Sessions: one process of `oneact serve catalog` for many calls."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from ._connection import Connection
from ._outcome import CallResult
from ._process import Settings
from ._task import Inputs, named, present
from ._wire import (
    Approve,
    Asked,
    Box,
    Progress,
    Tool,
    Wire,
    call_params,
    call_result,
    checked,
    decision_of,
    now,
    overdue,
    tools_of,
)
from .errors import SessionEnded

if TYPE_CHECKING:
    from typing_extensions import Self


class _Box(Box):
    def __init__(self) -> None:
        super().__init__()
        self._ready = threading.Event()

    def wake(self) -> None:
        self._ready.set()

    def take(self, until: float | None = None) -> Any:
        """The next event, or None: it is late."""
        while not self.events:
            if not self._ready.wait(None if until is None else until - now()):
                return None
            self._ready.clear()
        return self.events.popleft()


class Session:
    """Calls by one process. Several threads may call at the same time."""

    def __init__(
        self, settings: Settings, session_id: str | None, approve: Approve | None, startup_timeout: float
    ) -> None:
        self._settings = settings
        self._flags = [] if session_id is None else ["--session", session_id]
        self._approve = approve
        self._startup_timeout = startup_timeout
        self._connection: Connection | None = None

    def __enter__(self) -> Self:
        wire = self._wire = Wire(self._approve is not None)
        connection = self._connection = Connection(self._settings, self._flags, wire, self._asked)
        try:
            box = _Box()
            connection.send(wire.hello(connection.begin(box.put)))
            answer = box.take(now() + self._startup_timeout)
            if answer is None:
                connection.kill(f"`oneact serve catalog` was not ready after {self._startup_timeout:g} seconds")
                answer = box.take()
            checked(answer, "oneact refused the session")
            connection.send(wire.notice("notifications/initialized"))
        except BaseException:
            connection.kill()
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process. Calls that are under way are cancelled."""
        connection = self._connection
        if connection is None or not connection.is_here():
            return
        try:
            connection.finish()
            connection.join()
        except BaseException:
            connection.kill()
            raise

    def tools(self) -> list[Tool]:
        """The tools that the catalog offers now."""
        connection = self._opened()
        tools: list[Tool] = []
        params: dict[str, Any] = {}
        while True:
            box = _Box()
            connection.send(self._wire.request(connection.begin(box.put), "tools/list", params))
            answer = checked(box.take(), "oneact lists no tools")
            tools += tools_of(answer)
            if not answer.get("nextCursor"):
                return tools
            params = {"cursor": answer["nextCursor"]}

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        inputs: Inputs = (),
        idempotency_key: str | None = None,
        under: str | None = None,
        salt: str | None = None,
        timeout: float | None = None,
    ) -> CallResult:
        """Calls a tool. A fault of the call is no exception: see `CallResult.ok` and `raise_for_fault`.

        After `timeout` seconds, the call is cancelled, and the result says so.
        """
        for event in self._events(name, arguments, inputs, (idempotency_key, under, salt), timeout):
            if isinstance(event, CallResult):
                return event
        raise AssertionError("a call ends with its result")

    def stream(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        inputs: Inputs = (),
        idempotency_key: str | None = None,
        under: str | None = None,
        salt: str | None = None,
        timeout: float | None = None,
    ) -> Generator[Progress | CallResult, None, None]:
        """As `call`: first the progress of the tool, at the end the result. Leaving the iterator cancels the call."""
        return self._events(name, arguments, inputs, (idempotency_key, under, salt), timeout)

    def _events(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        inputs: Inputs,
        meta: tuple[str | None, str | None, str | None],
        timeout: float | None,
    ) -> Generator[Progress | CallResult, None, None]:
        connection = self._opened()
        refs = named(inputs)
        root = self._settings.base()
        box = _Box()
        with present(refs.values()):
            number = connection.begin(box.put)
            line = b""
            answered = False
            try:
                line = self._wire.request(number, "tools/call", call_params(name, arguments, refs, *meta))
                until = None if timeout is None else now() + timeout
                connection.send(line)
                while not answered and (event := box.take(until)) is not None:
                    answered = not isinstance(event, Progress)
                    yield call_result(event, root) if answered else event
            finally:
                if not answered:
                    connection.cancel(number, line)
            if not answered:
                yield overdue(timeout, root)

    def _opened(self) -> Connection:
        if self._connection is None:
            raise SessionEnded("the session is not open; use it with `with client.session() as session:`", None, "")
        return self._connection

    def _asked(self, asked: Asked) -> None:
        # A person may take long, and other calls go on.
        threading.Thread(target=self._ask, args=(asked,), name="oneact_approve", daemon=True).start()

    def _ask(self, asked: Asked) -> None:
        decision = None
        try:
            decision = decision_of(self._approve(asked.approval)) if self._approve is not None else None
        finally:
            # A callback that raises decides nothing.
            self._opened().send(Wire.decided(asked, decision))
