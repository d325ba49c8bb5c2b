"""Notes in a new directory: one call, one file plan that is shown before it is applied, and a session of many calls.

Run it with the package installed: python examples/notes.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import oneact
from oneact.models import TaskPlan

CATALOG = """
catalog = 1

[server.data]
command = ["{self}", "serve", "data-management"]
keep_alive = true

[capability.store_note]
description = "Store a note as a file."
is_action = true
effects = { read_only = false, destructive = false, idempotent = true, open_world = false }
mcp = { server = "data", tool = "file_storer" }

[capability.store_note.parameter_schema_for_action]
type = "object"
required = ["file_data", "target_path"]
additionalProperties = false
properties = { file_data = { type = "string" }, target_path = { type = "string" } }
"""

PLAN: TaskPlan = {
    "plan_id": "greet-ada",
    "protocol_validation": True,
    "action_plan": [
        {
            "action_id": "a1",
            "action_type": "FILE_MODIFY",
            "target": "note.txt",
            "operation": {"type": "text_replace", "pattern": "Hello", "replacement": "Hello Ada"},
        }
    ],
}


def main(root: Path) -> None:
    (root / "catalog.toml").write_text(CATALOG, encoding="utf-8")
    client = oneact.Oneact(root)

    # One call. A fault would be an exception.
    client.call("store_note", {"file_data": "data:;base64,SGVsbG8K", "target_path": "note.txt"})
    print((root / "note.txt").read_text(), end="")

    # A fault that is expected is no exception with `perform`.
    outcome = client.perform(oneact.Task.call("store_note", {"file_data": 5}))
    print(outcome.fault, outcome.recoverable)

    # A file plan: look at the change first, then make exactly this change.
    task = oneact.Task.plan(PLAN)
    preview = client.perform(task, dry_run=True).raise_for_fault().result
    print(preview["diff"], end="")
    client.perform(task, expect=preview["hash"]).raise_for_fault()
    print((root / "note.txt").read_text(), end="")

    # Many calls: one process, and a tool server that stays.
    with client.session() as session:
        for number in range(3):
            note = {"file_data": "data:;base64,Q2FsbCBBZGEK", "target_path": f"notes/{number}.txt"}
            session.call("store_note", note).raise_for_fault()
    print(sorted(path.name for path in (root / "notes").iterdir()))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        main(Path(directory))
