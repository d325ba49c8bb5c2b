"""Sessions for asyncio, as `_session.py`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from ._connection import Connection
from ._outcome import CallResult
from ._process import Settings
from ._task import Inputs, named, present
from ._wire import (
    Asked,
    AsyncApprove,
    Box,
    Progress,
    Tool,
    Wire,
    call_params,
    call_result,
    checked,
    decision_of,
    overdue,
    tools_of,
)
from .errors import OneactError, SessionEnded

if TYPE_CHECKING:
    from typing_extensions import Self


class _Box(Box):
    def __init__(self, timeout: float | None = None) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._woken = False
        self._late = False
        self._timer = None if timeout is None else self._loop.call_later(timeout, self._expire)

    def wake(self) -> None:
        if not self._woken:
            self._woken = True
            _soon(self._loop, self._wake_here)

    def _wake_here(self) -> None:
        self._woken = False
        self._ready.set()

    def _expire(self) -> None:
        self._late = True
        self._ready.set()

    async def take(self) -> Any:
        """The next event, or None: it is late."""
        while not self.events:
            if self._late:
                return None
            self._ready.clear()
            await self._ready.wait()
        return self.events.popleft()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _soon(loop: asyncio.AbstractEventLoop, do: Any, *args: Any) -> None:
    try:
        loop.call_soon_threadsafe(do, *args)
    except RuntimeError:
        pass  # The loop is closed: nobody waits any more.


class AsyncSession:
    """As `Session`, for asyncio. Cancelling the asyncio task of a call cancels the call."""

    def __init__(
        self, settings: Settings, session_id: str | None, approve: AsyncApprove | None, startup_timeout: float
    ) -> None:
        self._settings = settings
        self._flags = [] if session_id is None else ["--session", session_id]
        self._approve = approve
        self._startup_timeout = startup_timeout
        self._connection: Connection | None = None
        self._asking: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        wire = self._wire = Wire(self._approve is not None)
        box = _Box(self._startup_timeout)
        connection = self._connection = Connection(self._settings, self._flags, wire, self._asked)
        try:
            connection.send(wire.hello(connection.begin(box.put)))
            answer = await box.take()
            if answer is None:
                connection.kill(f"`oneact serve catalog` was not ready after {self._startup_timeout:g} seconds")
                await self.close()
                answer = box.events.popleft()
            checked(answer, "oneact refused the session")
            connection.send(wire.notice("notifications/initialized"))
        except BaseException:
            connection.kill()
            await self.close()
            raise
        finally:
            box.close()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the process. Calls that are under way are cancelled."""
        connection = self._connection
        if connection is None or not connection.is_here():
            return
        try:
            connection.finish()
            # It is answered when the process has ended.
            box = _Box()
            connection.begin(box.put)
            await box.take()
        except SessionEnded:
            pass
        except BaseException:
            connection.kill()
            raise
        connection.join()
        if asyncio.get_running_loop() is self._loop:
            for task in self._asking:
                task.cancel()

    async def tools(self) -> list[Tool]:
        """The tools that the catalog offers now."""
        connection = self._opened()
        tools: list[Tool] = []
        params: dict[str, Any] = {}
        while True:
            box = _Box()
            connection.send(self._wire.request(connection.begin(box.put), "tools/list", params))
            answer = checked(await box.take(), "oneact lists no tools")
            tools += tools_of(answer)
            if not answer.get("nextCursor"):
                return tools
            params = {"cursor": answer["nextCursor"]}

    async def call(
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
        """As `Session.call`."""
        events = self._events(name, arguments, inputs, (idempotency_key, under, salt), timeout)
        async with aclosing(events):
            async for event in events:
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
    ) -> AsyncGenerator[Progress | CallResult, None]:
        """As `Session.stream`. To cancel at once when you leave it early, use `async with contextlib.aclosing(…)`."""
        return self._events(name, arguments, inputs, (idempotency_key, under, salt), timeout)

    async def _events(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        inputs: Inputs,
        meta: tuple[str | None, str | None, str | None],
        timeout: float | None,
    ) -> AsyncGenerator[Progress | CallResult, None]:
        connection = self._opened()
        refs = named(inputs)
        root = self._settings.base()
        with present(refs.values()):
            box = _Box(timeout)
            line = b""
            answered = False
            number = connection.begin(box.put)
            try:
                line = self._wire.request(number, "tools/call", call_params(name, arguments, refs, *meta))
                connection.send(line)
                while not answered and (event := await box.take()) is not None:
                    answered = not isinstance(event, Progress)
                    yield call_result(event, root) if answered else event
            finally:
                box.close()
                if not answered:
                    connection.cancel(number, line)
            if not answered:
                yield overdue(timeout, root)

    def _opened(self) -> Connection:
        if self._connection is None:
            raise SessionEnded(
                "the session is not open; use it with `async with client.session() as session:`", None, ""
            )
        if asyncio.get_running_loop() is not self._loop:
            raise OneactError("the session belongs to another event loop; open another one in this loop")
        return self._connection

    def _asked(self, asked: Asked) -> None:
        _soon(self._loop, self._ask_here, asked)

    def _ask_here(self, asked: Asked) -> None:
        # A person may take long, and other calls go on.
        task = self._loop.create_task(self._ask(asked))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask(self, asked: Asked) -> None:
        decision = None
        try:
            decision = decision_of(await self._approve(asked.approval)) if self._approve is not None else None
        finally:
            # A callback that raises decides nothing.
            self._opened().send(Wire.decided(asked, decision))
