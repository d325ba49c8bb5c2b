"""Tasks, and their inputs: files, and bytes that become files while a run reads them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, Union

if TYPE_CHECKING:
    from .models import BareTask, CallerMetadata, InputRef, TaskDocument, TaskPlan, WrappedPlan

StrPath: TypeAlias = Union[str, "os.PathLike[str]"]


class File:
    """A file that exists, or an object of a store: a path or a URI."""

    def __init__(self, path: StrPath) -> None:
        text = os.fspath(path)
        # Relative to the working directory of this program, not to the root of oneact.
        self.uri = text if "://" in text else os.path.abspath(text)

    def __repr__(self) -> str:
        return f"File({self.uri!r})"


class Data:
    """Bytes as an input. They are in a file while a run reads them, and the same bytes always have the same path."""

    def __init__(self, content: bytes, suffix: str = "") -> None:
        import hashlib

        if suffix and (not suffix.startswith(".") or "/" in suffix):
            raise ValueError(f"the suffix of Data begins with a dot, such as '.wav'; this is {suffix!r}")
        # A copy: the bytes of a bytearray may change.
        self.content = bytes(memoryview(content))
        self.uri = os.path.join(_directory(), hashlib.sha256(self.content).hexdigest() + suffix)

    def __repr__(self) -> str:
        return f"Data({len(self.content)} bytes, {self.uri!r})"


def _directory() -> str:
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"oneact-inputs-{os.getuid()}")


@contextmanager
def _written(data: Data) -> Iterator[None]:
    """The file of the bytes. Whoever uses it holds a shared lock; the last one removes it."""
    import fcntl

    directory = os.path.dirname(data.uri)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    found = os.lstat(directory)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{directory} is not a directory that only you can use; remove it, or set TMPDIR")
    with _alone(directory):
        file = _shared(data)
    try:
        yield
    finally:
        with _alone(directory):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Another file may have taken its place.
                if os.path.samestat(os.fstat(file), os.stat(data.uri)):
                    os.unlink(data.uri)
            except (BlockingIOError, FileNotFoundError):
                pass  # Another run uses it, or somebody has cleaned up.
            finally:
                os.close(file)


@contextmanager
def _alone(directory: str) -> Iterator[None]:
    """For the moment in which a file is made or removed."""
    import fcntl

    lock = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        # Not only by closing it: a process that was forked meanwhile has it open, too.
        fcntl.flock(lock, fcntl.LOCK_UN)
        os.close(lock)


def _shared(data: Data) -> int:
    """The file with a shared lock. One that has other bytes, or that somebody has locked, is replaced."""
    import fcntl

    try:
        file = os.open(data.uri, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return _made(data)
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        with open(file, "rb", closefd=False) as found:
            if stat.S_ISREG(os.fstat(file).st_mode) and found.read() == data.content:
                return file
    except OSError:
        pass
    os.close(file)
    return _made(data)


def _made(data: Data) -> int:
    """A new file in its place, whole from the first moment, and with a shared lock."""
    import fcntl
    import tempfile

    file, path = tempfile.mkstemp(dir=os.path.dirname(data.uri))
    try:
        with open(file, "wb", closefd=False) as whole:
            whole.write(data.content)
        os.fchmod(file, 0o400)
        fcntl.flock(file, fcntl.LOCK_SH)
        os.replace(path, data.uri)
    except BaseException:
        os.close(file)
        os.unlink(path)
        raise
    return file


Input: TypeAlias = Union[File, Data]
# By their ref ids, or in their order: then they are store_1, store_2 and so on. The ref id of a source that a tool has
# yet to fetch must be src_N.
Inputs: TypeAlias = Union[Mapping[str, Input], Sequence[Input]]


def named(inputs: Inputs) -> dict[str, Input]:
    if isinstance(inputs, Mapping):
        return dict(inputs)
    return {f"store_{number}": one for number, one in enumerate(inputs, 1)}


@contextmanager
def present(inputs: Iterable[Input]) -> Iterator[None]:
    """While it is entered, the bytes of all inputs are in their files."""
    with ExitStack() as stack:
        for one in inputs:
            if isinstance(one, Data):
                stack.enter_context(_written(one))
        yield


def _resolved(ref_id: str, one: Input) -> InputRef:
    return {"ref_id": ref_id, "storage_uri": one.uri, "status": "reference" if ref_id.startswith("src_") else "stored"}


class Task:
    """A task document, and the inputs that it names. `document` is what is sent to oneact."""

    def __init__(self, document: TaskDocument, inputs: Iterable[Input] = ()) -> None:
        self.document = document
        self.inputs = tuple(inputs)

    def __repr__(self) -> str:
        return f"Task({self.document!r})"

    @classmethod
    def of(cls, document: TaskDocument) -> Task:
        """A document as it is, in any form that oneact reads (`oneact schema task`)."""
        return cls(document)

    @classmethod
    def call(
        cls,
        capability: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        inputs: Inputs = (),
        outputs: Sequence[str] = (),
        session_id: str | None = None,
        task_id: str | None = None,
        request_id: str | None = None,
        idempotency_key: str | None = None,
        attempt: int | None = None,
        salt: str | None = None,
        under: str | None = None,
    ) -> Task:
        """A task of one capability, or of one workflow. `outputs` are the ref ids of the assets that it makes."""
        refs = named(inputs)
        document: BareTask = {"task_id": task_id or _new_id(), "capability_ids": [capability]}
        if parameters:
            document["parameters"] = dict(parameters)
        if refs:
            document["input_refs_resolved"] = [_resolved(ref_id, one) for ref_id, one in refs.items()]
        if outputs:
            document["output_refs_expected"] = list(outputs)
        if idempotency_key is not None:
            document["idempotency_key"] = idempotency_key
        if attempt is not None:
            document["attempt"] = attempt
        if salt is not None:
            document["salt"] = salt
        if under is not None:
            document["under"] = under
        if metadata := _metadata(session_id, request_id):
            document["metadata"] = metadata
        return cls(document, refs.values())

    @classmethod
    def plan(
        cls,
        plan: TaskPlan,
        *,
        session_id: str | None = None,
        task_id: str | None = None,
        request_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Task:
        """A file plan (`oneact schema plan`)."""
        document: WrappedPlan = {"task_plan": plan}
        if task_id is not None:
            document["task_id"] = task_id
        if idempotency_key is not None:
            document["idempotency_key"] = idempotency_key
        if metadata := _metadata(session_id, request_id):
            document["metadata"] = metadata
        return cls(document)


def _metadata(session_id: str | None, request_id: str | None) -> CallerMetadata:
    metadata: CallerMetadata = {}
    if session_id is not None:
        metadata["session_id"] = session_id
    if request_id is not None:
        metadata["request_id"] = request_id
    return metadata


def _new_id() -> str:
    return f"task_{os.urandom(8).hex()}"
