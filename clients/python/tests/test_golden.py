"""Each file of `golden/` is a task and what the client must make of it, with the real binary."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import oneact

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.json"))


def seen(outcome: oneact.Outcome, root: Path, expected: dict[str, Any]) -> dict[str, Any]:
    """What of the outcome the file describes."""
    error = None
    try:
        assert outcome.raise_for_fault() is outcome
    except oneact.FaultError as raised:
        error = type(raised).__name__
        same = (raised.fault, raised.recoverable, raised.effect, raised.message)
        assert same == (outcome.fault, outcome.recoverable, outcome.effect, outcome.message)
        assert raised.outcome is outcome and str(raised) == f"{outcome.fault}: {outcome.message}"
    assert outcome.ok == (error is None)
    assert outcome.is_waiting == (outcome.waiting is not None)
    found: dict[str, Any] = {
        "error": error,
        "exit_code": outcome.exit_code,
        "state": outcome.state,
        "fault": outcome.fault,
        "effect": outcome.effect,
        "recoverable": outcome.recoverable,
    }
    if outcome.waiting is not None:
        found["waiting"] = outcome.waiting["for"]
    if "message" in expected:
        found["message"] = (outcome.message or "").replace(str(root), "{root}")
    if "result" in expected:
        # The report of a plan has times and durations.
        is_part = isinstance(expected["result"], dict) and "status" in expected["result"]
        found["result"] = {key: outcome.result[key] for key in expected["result"]} if is_part else outcome.result
    if outcome.files:
        found["files"] = {file.ref_id: file.read_bytes().decode() for file in outcome.files}
    return found


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_golden(path: Path, kind: str, root: Path) -> None:
    golden = json.loads(path.read_text(encoding="utf-8"))
    if kind == "sync":
        outcome = oneact.Oneact(root).perform(golden["task"])
    else:
        outcome = asyncio.run(oneact.AsyncOneact(root).perform(golden["task"]))
    assert seen(outcome, root, golden["expected"]) == golden["expected"]


def test_the_golden_tasks_fail_in_every_family() -> None:
    errors = {json.loads(path.read_text(encoding="utf-8"))["expected"]["error"] for path in GOLDEN}
    families = {"InvalidInput", "ValidationError", "DependencyError", "OutOfScope", "TimedOut", "ProcessingError"}
    assert errors == families | {"ApprovalRequired", None}
