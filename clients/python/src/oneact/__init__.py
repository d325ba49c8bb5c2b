"""A client of oneact, the program that performs one agent action.

    import oneact

    client = oneact.Oneact(root="/home/me/project")
    outcome = client.call("store_note", {"file_data": "data:;base64,SGVsbG8K"})

The client starts the binary `oneact` and speaks JSON with it. It decides nothing itself. Everything is loaded when it is
first used, so that `import oneact` costs next to nothing.
"""

# As typing.TYPE_CHECKING, which would have to be loaded.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._async_session import AsyncSession as AsyncSession
    from ._client import AsyncOneact as AsyncOneact
    from ._client import Oneact as Oneact
    from ._outcome import CallResult as CallResult
    from ._outcome import Outcome as Outcome
    from ._outcome import OutputFile as OutputFile
    from ._session import Session as Session
    from ._task import Data as Data
    from ._task import File as File
    from ._task import Task as Task
    from ._wire import Approval as Approval
    from ._wire import Progress as Progress
    from ._wire import Tool as Tool
    from .errors import ApprovalRequired as ApprovalRequired
    from .errors import BinaryMissing as BinaryMissing
    from .errors import DependencyError as DependencyError
    from .errors import FaultError as FaultError
    from .errors import InvalidInput as InvalidInput
    from .errors import NoEnvelope as NoEnvelope
    from .errors import OneactError as OneactError
    from .errors import OutOfScope as OutOfScope
    from .errors import ProcessingError as ProcessingError
    from .errors import SessionEnded as SessionEnded
    from .errors import TimedOut as TimedOut
    from .errors import ValidationError as ValidationError

_HOMES = {
    "_async_session": ("AsyncSession",),
    "_client": ("AsyncOneact", "Oneact"),
    "_outcome": ("CallResult", "Outcome", "OutputFile"),
    "_session": ("Session",),
    "_task": ("Data", "File", "Task"),
    "_wire": ("Approval", "Progress", "Tool"),
    "errors": (
        "ApprovalRequired",
        "BinaryMissing",
        "DependencyError",
        "FaultError",
        "InvalidInput",
        "NoEnvelope",
        "OneactError",
        "OutOfScope",
        "ProcessingError",
        "SessionEnded",
        "TimedOut",
        "ValidationError",
    ),
}

__all__ = [
    "ApprovalRequired",
    "Approval",
    "AsyncOneact",
    "AsyncSession",
    "BinaryMissing",
    "CallResult",
    "Data",
    "DependencyError",
    "FaultError",
    "File",
    "InvalidInput",
    "NoEnvelope",
    "Oneact",
    "OneactError",
    "OutOfScope",
    "Outcome",
    "OutputFile",
    "ProcessingError",
    "Progress",
    "Session",
    "SessionEnded",
    "Task",
    "TimedOut",
    "Tool",
    "ValidationError",
]


if not TYPE_CHECKING:  # A type checker would take every name for an attribute.

    def __getattr__(name):
        import importlib

        for home, names in _HOMES.items():
            if name in names:
                value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})
