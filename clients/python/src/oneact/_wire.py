"""The lines of MCP that a session speaks with `oneact serve catalog`, and what both kinds of session share. No I/O."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, Union

from ._json import compact, parse
from ._outcome import CallResult
from .errors import OneactError

PROTOCOL = "2025-11-25"
# oneact refuses longer messages, and sends none.
LONGEST = 64 << 20
# How many notifications of progress are kept for a caller who does not read them: the newest.
KEPT_OF_PROGRESS = 100


class Tool(NamedTuple):
    """A tool that the catalog offers."""

    name: str
    description: str
    input_schema: dict[str, Any]
    annotations: dict[str, Any]


class Progress(NamedTuple):
    """What a tool says while it works."""

    progress: float
    total: float | None
    message: str | None


class Approval(NamedTuple):
    """A request for an approval. `message` contains everything that a person has to see."""

    message: str


Approve: TypeAlias = Callable[[Approval], Union[bool, None]]
AsyncApprove: TypeAlias = Callable[[Approval], Awaitable[Union[bool, None]]]
Put: TypeAlias = Callable[[Any], None]


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error.get("message"))
        self.error = error


class Asked(NamedTuple):
    """The server asks for an approval."""

    id: Any
    approval: Approval


class Wire:
    """The messages of one connection, without I/O. The caller hands in lines, and sends what it gets."""

    def __init__(self, can_ask: bool) -> None:
        self.can_ask = can_ask
        self._ids = itertools.count(1)
        self._waiting: dict[int, Put] = {}

    def begin(self, put: Put) -> int:
        """The number of a new request. `put` gets each `Progress`, and then the result or an exception."""
        number = next(self._ids)
        self._waiting[number] = put
        return number

    @staticmethod
    def request(number: int, method: str, params: dict[str, Any]) -> bytes:
        if method == "tools/call":
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": number}}
        line = compact({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if len(line) > LONGEST:
            raise ValueError(
                f"the call has {len(line)} bytes, and oneact reads at most {LONGEST}; hand in large data as files"
            )
        return line

    def hello(self, number: int) -> bytes:
        from importlib.metadata import PackageNotFoundError, version

        try:
            release = version("oneact")
        except PackageNotFoundError:
            release = "0"
        capabilities: dict[str, Any] = {"elicitation": {"form": {}}} if self.can_ask else {}
        client = {"name": "oneact-python", "version": release}
        params = {"protocolVersion": PROTOCOL, "capabilities": capabilities, "clientInfo": client}
        return self.request(number, "initialize", params)

    @staticmethod
    def notice(method: str, params: dict[str, Any] | None = None) -> bytes:
        return compact({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def cancel(self, number: int) -> bytes:
        return self.notice("notifications/cancelled", {"requestId": number})

    def forget(self, number: int) -> None:
        self._waiting.pop(number, None)

    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def receive(self, line: bytes) -> bytes | Asked | None:
        """Reads a line, and returns what is to be done about it. A ValueError: it is no message."""
        message = parse(line)
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise ValueError("no JSON-RPC message")
        if "method" in message:
            return self._told(message)
        answer = message["error"] if "error" in message else message["result"]
        if not isinstance(answer, dict):
            raise ValueError("an answer is an object")
        put = self._waiting.pop(message["id"], None)
        if put is not None:
            put(Refused(answer) if "error" in message else answer)
        return None

    def _told(self, message: dict[str, Any]) -> bytes | Asked | None:
        method, params = message["method"], message.get("params") or {}
        if "id" not in message:
            if method == "notifications/progress":
                put = self._waiting.get(params["progressToken"])
                if put is not None:
                    put(Progress(params.get("progress", 0), params.get("total"), params.get("message")))
            return None
        if method == "elicitation/create" and self.can_ask:
            return Asked(message["id"], Approval(str(params.get("message", ""))))
        if method == "ping":
            return self._reply(message["id"], {"result": {}})
        return self._reply(
            message["id"], {"error": {"code": -32601, "message": f"this client does not answer {method}"}}
        )

    @staticmethod
    def _reply(id: Any, answer: dict[str, Any]) -> bytes:
        return compact({"jsonrpc": "2.0", "id": id, **answer})

    @staticmethod
    def decided(asked: Asked, decision: bool | None) -> bytes:
        """The answer to a request for an approval. None closes the form: nothing is decided."""
        if decision is None:
            return Wire._reply(asked.id, {"result": {"action": "cancel"}})
        if decision:
            return Wire._reply(asked.id, {"result": {"action": "accept", "content": {"approve": True}}})
        return Wire._reply(asked.id, {"result": {"action": "decline"}})

    def fail(self, error: Exception) -> None:
        """There are no more answers."""
        while self._waiting:
            _, put = self._waiting.popitem()
            put(error)


def decision_of(answer: object) -> bool | None:
    """What a callback has answered. Only True approves: a coroutine or a word is no decision, though Python takes it for true."""
    if answer is None or isinstance(answer, bool):
        return answer
    raise TypeError(f"approve() returns True, False or None, and has returned {answer!r}; nothing is decided")


class Box:
    """What has come for a request, and is not yet read. Any thread may put; one takes."""

    def __init__(self) -> None:
        self.events: deque[Any] = deque(maxlen=KEPT_OF_PROGRESS)

    def put(self, event: Any) -> None:
        self.events.append(event)
        self.wake()

    def wake(self) -> None:
        raise NotImplementedError


def call_params(
    name: str,
    arguments: Mapping[str, Any] | None,
    refs: Mapping[str, Any],
    idempotency_key: str | None,
    under: str | None,
    salt: str | None,
) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "oneact/idempotency_key": idempotency_key,
        "oneact/under": under,
        "oneact/salt": salt,
        "oneact/refs": {ref_id: one.uri for ref_id, one in refs.items()} or None,
    }
    meta = {key: value for key, value in meta.items() if value is not None}
    return {"name": name, "arguments": dict(arguments or {}), **({"_meta": meta} if meta else {})}


def tools_of(result: dict[str, Any]) -> list[Tool]:
    return [
        Tool(tool["name"], tool.get("description", ""), tool["inputSchema"], tool.get("annotations") or {})
        for tool in result["tools"]
    ]


def call_result(answer: Any, root: str) -> CallResult:
    if isinstance(answer, Refused):
        # Such as a tool that is not offered: the fault is in the data of the error.
        data = answer.error.get("data")
        fault = data.get("fault") if isinstance(data, dict) else None
        if fault is None:
            raise OneactError(f"oneact refused the call: {answer.error.get('message')}")
        refused = {"fault": fault, "message": answer.error.get("message", ""), "recoverable": False}
        text = f"{fault}: {refused['message']}"
        answer = {"isError": True, "structuredContent": refused, "content": [{"type": "text", "text": text}]}
    elif isinstance(answer, Exception):
        raise answer
    return CallResult(answer, root)


def checked(answer: Any, refusal: str) -> Any:
    """The result of a request of the client's own."""
    if isinstance(answer, Refused):
        raise OneactError(f"{refusal}: {answer}")
    if isinstance(answer, Exception):
        raise answer
    return answer


def overdue(timeout: float | None, root: str) -> CallResult:
    """A call that is cancelled after its timeout. MCP lets nobody answer a cancelled call."""
    message = (
        f"the call had no answer after {timeout or 0:g} seconds and was cancelled; call again with the same "
        "idempotency_key to learn what became of it"
    )
    said = {"fault": "cancelled", "message": message, "recoverable": True, "effect": "unknown"}
    content = [{"type": "text", "text": f"cancelled: {message}"}]
    return CallResult(
        {"isError": True, "structuredContent": said, "content": content, "_meta": {"oneact/state": "cancelled"}}, root
    )


def now() -> float:
    return time.monotonic()
