"""What a program of a user does. `mypy --strict` must find nothing here (tests/test_types.py)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import assert_type

import oneact
from oneact.models import BareTask, Effect, Envelope, Fault, FileCreateAction, TaskDocument, TaskPlan

document: BareTask = {
    "task_id": "t1",
    "capability_ids": ["echo"],
    "parameters": {"text": "Hello"},
    "input_refs_resolved": [{"ref_id": "store_1", "storage_uri": "a.txt", "status": "stored"}],
    "metadata": {"session_id": "s1"},
}
action: FileCreateAction = {
    "action_id": "a1",
    "action_type": "FILE_CREATE",
    "target": "hello.txt",
    "operation": {"type": "create", "content": "Hello\n"},
}
plan: TaskPlan = {"plan_id": "p1", "action_plan": [action], "protocol_validation": True}
proposal: TaskDocument = {"kind": "suggestion", "title": "Take a break"}


def run(client: oneact.Oneact) -> int:
    task = oneact.Task.call(
        "measure", inputs=[oneact.Data(b"abc", ".txt"), oneact.File("a.txt")], outputs=["derived_1"]
    )
    assert_type(task.document, TaskDocument)
    outcome = client.perform(task, timeout=2.5)
    assert_type(outcome.envelope, Envelope)
    assert_type(outcome.fault, "Fault | None")
    assert_type(outcome.effect, Effect | None)
    assert_type(outcome.raise_for_fault(), oneact.Outcome)
    client.perform(document)
    client.perform(proposal)
    client.perform(oneact.Task.plan(plan), dry_run=True)
    waiting = outcome.waiting
    if waiting is not None and waiting["for"] == "input":
        print(waiting["input_requests"])
    for tool in outcome.envelope["output"]["content"]["task_result"]["tool_invocations"]:
        print(tool["tool_name"], tool["execution_time_ms"] / 1000)
    try:
        return len(client.call("echo", {"text": "Hello"}, inputs={"src_1": oneact.File("a.txt")}).files)
    except oneact.ApprovalRequired as waits:
        assert_type(waits.approval_id, "str | None")
    except oneact.FaultError as failed:
        assert_type(failed.fault, Fault)
        if failed.fault == "rate_limited":
            return 75
    return 1


def approve(approval: oneact.Approval) -> bool:
    return "Ada" in approval.message


def session(client: oneact.Oneact) -> Iterator[float]:
    with client.session(approve=approve) as opened:
        assert_type(opened, oneact.Session)
        for event in opened.stream("work", {"seconds": 1}):
            if isinstance(event, oneact.Progress):
                yield event.progress
            else:
                assert_type(event, oneact.CallResult)


async def approve_async(approval: oneact.Approval) -> bool | None:
    return None


async def session_async(client: oneact.AsyncOneact) -> AsyncIterator[str]:
    assert_type(await client.perform(document), oneact.Outcome)
    async with client.session(approve=approve_async) as opened:
        assert_type(opened, oneact.AsyncSession)
        assert_type(await opened.call("echo", {"text": "Hello"}), oneact.CallResult)
        async with aclosing(opened.stream("work")) as events:
            async for event in events:
                yield repr(event)
