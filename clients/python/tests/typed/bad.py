"""Mistakes that `mypy --strict` must find, each in the line and of the kind that its comment names."""

from __future__ import annotations

import oneact
from oneact.models import BareTask, Fault, FileCreateAction, TaskPlan

client = oneact.Oneact()

client.perform({"task_id": "t1"})  # E: arg-type
client.perform("echo")  # E: arg-type
client.perform(oneact.Task.call("echo"), timeout="2s")  # E: arg-type
client.call("echo", text="Hello")  # E: call-arg
client.call("measure", inputs=[b"abc"])  # E: list-item
client.call("measure", inputs=["a.txt"])  # E: list-item
oneact.Data("abc")  # E: arg-type
oneact.Task.plan({"plan_id": "p1"})  # E: typeddict-item
client.perform(oneact.Task.call("echo")).envelope["outputs"]  # E: typeddict-item
client.perform(oneact.Task.call("echo")).fault == "rate-limited"  # E: comparison-overlap
client.session(approve=lambda approval: "yes")  # E: arg-type, return-value
client.session().stream("work").progress  # E: attr-defined
oneact.AsyncOneact().call("echo").result  # E: attr-defined
oneact.Sync  # E: attr-defined

task: BareTask = {"task_id": "t1", "capability_ids": "echo"}  # E: typeddict-item
unknown: BareTask = {"task_id": "t1", "capability_ids": ["echo"], "paramters": {}}  # E: typeddict-unknown-key
fault: Fault = "oops"  # E: assignment
action: FileCreateAction = {"action_id": "a", "action_type": "FILE_DELETE", "target": "f"}  # E: typeddict-item
plan: TaskPlan = {"plan_id": 5, "action_plan": []}  # E: typeddict-item
