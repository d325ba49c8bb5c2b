"""The exceptions of the client.

`FaultError` and its classes mean that oneact answered, and that the task did not succeed. There is one class for each
family of faults (`error.error_code` of the envelope); `fault` is the exact word:

| class | family | for example |
|---|---|---|
| `InvalidInput` | INVALID_INPUT | `invalid_shape`, `no_capability` |
| `ValidationError` | VALIDATION_ERROR | `params_invalid`, `unknown_capability`, `approval_denied` |
| `DependencyError` | DEPENDENCY_ERROR | `input_inaccessible`, `request_in_flight` |
| `ApprovalRequired`, a `DependencyError` | DEPENDENCY_ERROR | `approval_required` |
| `OutOfScope` | OUT_OF_SCOPE | `context_denied` |
| `TimedOut`, also a `TimeoutError` | TIMEOUT | `timeout` |
| `ProcessingError` | PROCESSING_ERROR | `tool_error`, `server_not_found`, `cancelled` |

The other exceptions mean that there is no answer: `BinaryMissing`, `NoEnvelope` and `SessionEnded`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._outcome import Answer
    from .models import Effect, Fault


class OneactError(Exception):
    """Everything that this package raises."""


class BinaryMissing(OneactError):
    """There is no binary `oneact`, or it cannot be started."""


class NoEnvelope(OneactError):
    """The process ended without a valid envelope. What it did is not known; the ledger may know it."""

    def __init__(self, message: str, exit_code: int | None, stderr: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.stderr = stderr


class SessionEnded(NoEnvelope):
    """`oneact serve catalog` ended, or wrote something that is no message. Calls without an answer raise it."""


class FaultError(OneactError):
    """The task did not succeed."""

    def __init__(self, outcome: Answer) -> None:
        super().__init__(f"{outcome.fault}: {outcome.message}")
        self.outcome = outcome

    @property
    def fault(self) -> Fault:
        """The exact class of the failure."""
        fault = self.outcome.fault
        return "internal" if fault is None else fault

    @property
    def message(self) -> str:
        """What is wrong, where, and what to do."""
        return self.outcome.message or ""

    @property
    def recoverable(self) -> bool:
        """Whether the same task, sent again, may succeed."""
        return self.outcome.recoverable

    @property
    def effect(self) -> Effect | None:
        """Whether anything may have changed."""
        return self.outcome.effect


class InvalidInput(FaultError):
    """INVALID_INPUT: the document is no task that can be read."""


class ValidationError(FaultError):
    """VALIDATION_ERROR: the task, the parameters or the plan break a rule."""


class DependencyError(FaultError):
    """DEPENDENCY_ERROR: something that the task needs is not there, or not yet."""


class ApprovalRequired(DependencyError):
    """A person has to approve the request first."""

    @property
    def approval_id(self) -> str | None:
        """What `oneact approve` and `Oneact.perform_approved` take."""
        return self.outcome.approval_id


class OutOfScope(FaultError):
    """OUT_OF_SCOPE: the caller may not do this in its context."""


class TimedOut(FaultError, TimeoutError):
    """TIMEOUT: the tool did not answer in time."""


class ProcessingError(FaultError):
    """PROCESSING_ERROR: the tool, its server, a file or the machine failed."""


_FAMILIES: dict[str, type[FaultError]] = {
    "INVALID_INPUT": InvalidInput,
    "VALIDATION_ERROR": ValidationError,
    "DEPENDENCY_ERROR": DependencyError,
    "OUT_OF_SCOPE": OutOfScope,
    "TIMEOUT": TimedOut,
    "PROCESSING_ERROR": ProcessingError,
}


def error_of(outcome: Answer) -> FaultError:
    """The exception of a fault. A word of a later oneact belongs to no family: it is a plain `FaultError`."""
    from ._faults import FAMILIES

    if outcome.fault == "approval_required":
        return ApprovalRequired(outcome)
    return _FAMILIES.get(FAMILIES.get(outcome.fault or "", ""), FaultError)(outcome)
