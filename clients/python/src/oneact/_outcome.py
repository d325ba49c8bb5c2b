"""What a run or a call has given."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any, cast

from ._json import parse

if TYPE_CHECKING:
    from typing_extensions import Self

    from .models import Effect, Envelope, Fault, OutputRef, RunFacts, State, Waiting


class OutputFile:
    """An asset that was made and stored."""

    def __init__(self, ref: OutputRef, root: str) -> None:
        self.ref_id = ref["ref_id"]
        self.uri = ref["storage_uri"]
        self.asset_type = ref["asset_type"]
        # None if it is not on this machine.
        self.path = _local(self.uri, root)

    def __repr__(self) -> str:
        return f"OutputFile({self.ref_id!r}, {self.uri!r})"

    def read_bytes(self) -> bytes:
        """The content. An object of a store is not fetched."""
        if self.path is None:
            raise ValueError(f"{self.uri} is not on this machine; read it with a client of its store")
        with open(self.path, "rb") as file:
            return file.read()


def _local(uri: str, root: str) -> str | None:
    if uri.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        return unquote(urlsplit(uri).path)
    return None if "://" in uri else os.path.join(root, uri)


# The largest result that oneact stores.
LARGEST = 64 << 20


def _whole(data: Any) -> Any:
    """Result data that is too large for an answer is in a file, which is named after its content.

    Anything else stays as it is: a tool can answer with a reference of its own, and decides nothing about what is read
    here.
    """
    blob = data.get("$blob") if isinstance(data, dict) and len(data) == 1 else None
    if not isinstance(blob, dict) or not isinstance(blob.get("storage_uri"), str):
        return data
    uri, sha256 = blob["storage_uri"], blob.get("sha256")
    if not uri.startswith("file:///") or not uri.endswith(f"/sha256-{sha256}.json"):
        return data
    from hashlib import sha256 as digest

    try:
        # Opening a pipe would wait for its other end.
        with open(
            _local(uri, "/") or "", "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)
        ) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
                return data
            content = file.read(LARGEST)
        return parse(content) if digest(content).hexdigest() == sha256 else data
    except (OSError, ValueError):
        return data


class Answer:
    """What a run (`Outcome`) and a call of a session (`CallResult`) have in common."""

    ok: bool
    state: State | None
    fault: Fault | None
    message: str | None
    recoverable: bool
    # None if a call of a session was refused before its run, or if its run did not say.
    effect: Effect | None
    waiting: Waiting | None
    operation_id: str | None
    files: list[OutputFile]

    @property
    def result(self) -> Any:
        """The structured result; None if there is none."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The result for people and models: a text, or JSON. For a failure, its message."""
        raise NotImplementedError

    @property
    def is_waiting(self) -> bool:
        """Whether a person, or information, is waited for."""
        return self.waiting is not None

    @property
    def approval_id(self) -> str | None:
        """The request for an approval that this waits for."""
        waiting = self.waiting
        return waiting.get("approval_id") if waiting is not None and waiting["for"] == "approval" else None

    def raise_for_fault(self) -> Self:
        """Raises the exception of the fault, if there is one."""
        if self.ok:
            return self
        from .errors import error_of

        raise error_of(self)

    def __repr__(self) -> str:
        said = f"fault={self.fault!r}, message={self.message!r}" if self.fault else f"result={self.result!r}"
        return f"{type(self).__name__}(state={self.state!r}, {said})"


class Outcome(Answer):
    """What a run has given: the envelope, and its parts."""

    def __init__(self, envelope: Envelope, root: str, exit_code: int, stderr: str) -> None:
        facts = envelope["output"]["content"]["oneact"]
        self.envelope = envelope
        self.exit_code = exit_code
        self.stderr = stderr
        self.ok = not envelope["error"]["has_error"]
        self.state = facts["state"]
        self.fault = facts["fault"]
        self.message = envelope["error"]["error_message"]
        self.recoverable = envelope["error"]["recoverable"]
        self.effect = facts["effect"]
        self.waiting = facts["waiting"]
        self.operation_id = facts["operation_id"]
        self.session_id = envelope["metadata"]["session_id"]
        self.files = [
            OutputFile(ref, root) for ref in envelope["output"]["content"]["task_result"]["output_refs_produced"]
        ]

    @property
    def facts(self) -> RunFacts:
        """`output.content.oneact` of the envelope."""
        return self.envelope["output"]["content"]["oneact"]

    @property
    def result(self) -> Any:
        """The result data. For a file plan, its report; for a dry run, what would be done; for a suggestion, its card."""
        return _whole(self.inline_result)

    @property
    def inline_result(self) -> Any:
        """As `result`, but that result data in a file of its own stays a reference: `{"$blob": {"storage_uri": …}}`."""
        content = self.envelope["output"]["content"]
        data = content["task_result"]["result_data"]
        if data is not None:
            return data
        facts = content["oneact"]
        return content.get("execution_report") or content.get("suggestion") or facts.get("preview") or facts.get("plan")

    @property
    def text(self) -> str:
        return self.message or "" if not self.ok else _as_text(self.result)


class CallResult(Answer):
    """What a call of a session has given."""

    def __init__(self, answer: dict[str, Any], root: str) -> None:
        structured = answer.get("structuredContent") or {}
        meta = answer.get("_meta") or {}
        # None if it is larger than 64 KiB.
        self.envelope = cast("Envelope | None", meta.get("oneact/envelope"))
        self.ok = not answer.get("isError", False)
        self.operation_id = meta.get("oneact/operation_id")
        self.state = meta.get("oneact/state")
        self.content: list[dict[str, Any]] = answer.get("content") or []
        self.structured: dict[str, Any] = structured
        failed = {} if self.ok else structured
        self.fault = failed.get("fault")
        self.message = failed.get("message")
        self.recoverable = bool(failed.get("recoverable"))
        # oneact alone writes `_meta`, and the structured content of a failure. That of a success is from the tool.
        self.effect = meta.get("oneact/effect") or failed.get("effect")
        self.waiting = failed.get("waiting")
        if self.envelope is None:
            refs = meta.get("oneact/output_refs") or []
        else:
            refs = self.envelope["output"]["content"]["task_result"]["output_refs_produced"]
        self.files = [OutputFile(ref, root) for ref in refs]

    @property
    def result(self) -> Any:
        """The structured result, without the names of the assets that were made."""
        if not self.ok:
            return None
        data = dict(self.structured)
        if self.files:
            data.pop("output_refs_produced", None)
        return _whole(data) if data else None

    @property
    def text(self) -> str:
        if self.ok and "$blob" in self.structured:
            return _as_text(self.result)
        # oneact writes one block, and after it, at most, a note for models.
        return next((block["text"] for block in self.content if block.get("type") == "text"), "")


def _as_text(result: Any) -> str:
    if isinstance(result, dict) and list(result) == ["text"] and isinstance(result["text"], str):
        return result["text"]
    return "" if result is None else json.dumps(result, ensure_ascii=False)
