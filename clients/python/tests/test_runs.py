"""Runs: tasks, inputs and outputs, timeouts and cancellation, with the real binary."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import oneact
from oneact._process import sorted_out
from oneact.models import TaskPlan

PLAN: TaskPlan = {
    "plan_id": "plan-1",
    "protocol_validation": True,
    "action_plan": [
        {
            "action_id": "a1",
            "action_type": "FILE_CREATE",
            "target": "hello.txt",
            "operation": {"type": "create", "content": "Hello\n"},
        }
    ],
}


def test_a_call_gives_its_result(client: oneact.Oneact) -> None:
    outcome = client.call("add", {"a": 1, "b": 2})
    assert outcome.ok and outcome.result == {"sum": 3} and outcome.text == '{"sum": 3}'
    assert outcome.envelope["output"]["content"]["oneact"]["state"] == outcome.facts["state"] == "done"


def test_a_text_is_its_text(client: oneact.Oneact) -> None:
    assert client.call("echo", {"text": "Grüße 🙂"}).text == "Grüße 🙂"


def test_a_call_raises_its_fault(client: oneact.Oneact, async_client: oneact.AsyncOneact) -> None:
    with pytest.raises(oneact.ProcessingError) as raised:
        client.call("fail", {"message": "HTTP 429 Too Many Requests"})
    assert raised.value.fault == "rate_limited" and raised.value.recoverable
    with pytest.raises(oneact.TimedOut) as late:
        asyncio.run(async_client.call("hurried"))
    assert isinstance(late.value, TimeoutError) and late.value.effect == "unknown"


def test_nothing_is_started_before_the_first_task() -> None:
    client = oneact.Oneact("/nonexistent", binary="/nonexistent/oneact")
    client.session()
    with pytest.raises(oneact.BinaryMissing, match="/nonexistent/oneact cannot be started"):
        client.call("echo")


def test_bytes_are_an_input(client: oneact.Oneact) -> None:
    data = oneact.Data(b"abc", ".txt")
    outcome = client.call("measure", inputs=[data])
    assert outcome.result == {"bytes": 3, "sha256": hashlib.sha256(b"abc").hexdigest()}
    assert not os.path.exists(data.uri)


def test_the_same_bytes_are_the_same_request(client: oneact.Oneact) -> None:
    again = [
        client.call("measure", inputs=[oneact.Data(b"abc")], session_id="s", idempotency_key="k") for _ in range(2)
    ]
    assert [outcome.state for outcome in again] == ["done", "replayed"]


def test_runs_share_the_file_of_the_same_bytes(client: oneact.Oneact) -> None:
    data = [oneact.Data(b"shared") for _ in range(12)]
    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(lambda one: client.perform(oneact.Task.call("measure", inputs=[one])), data))
    assert [outcome.result["bytes"] for outcome in outcomes] == [6] * 12
    assert not os.path.exists(data[0].uri)


def test_a_directory_for_bytes_that_others_may_use_is_refused(
    client: oneact.Oneact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / f"oneact-inputs-{os.getuid()}").mkdir(mode=0o777)
    (tmp_path / f"oneact-inputs-{os.getuid()}").chmod(0o777)
    with pytest.raises(PermissionError, match="only you can use"):
        client.call("measure", inputs=[oneact.Data(b"abc")])


def test_a_suffix_without_a_dot_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with a dot"):
        oneact.Data(b"", "wav")


def test_a_file_is_an_input_by_its_name(client: oneact.Oneact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "letter.txt").write_bytes(b"Dear Ada")
    # Relative to this program, not to the root.
    monkeypatch.chdir(tmp_path)
    task = oneact.Task.call("measure", inputs={"letter": oneact.File("letter.txt")})
    assert client.perform(task).result["bytes"] == 8


def test_a_made_file_can_be_read(client: oneact.Oneact) -> None:
    [file] = client.call("write", {"text": "Grüße"}, outputs=["derived_1"]).files
    assert (file.ref_id, file.asset_type, file.read_bytes()) == ("derived_1", "note", "Grüße".encode())
    assert file.path is not None and file.uri == Path(file.path).as_uri()


def test_a_file_of_another_machine_is_not_read() -> None:
    from oneact._outcome import OutputFile

    far = OutputFile({"ref_id": "r", "storage_uri": "s3://b/k", "asset_type": "note", "status": "created"}, "/")
    assert far.path is None
    with pytest.raises(ValueError, match="not on this machine"):
        far.read_bytes()


def test_a_huge_result_is_read_from_its_file(client: oneact.Oneact) -> None:
    outcome = client.call("large", {"bytes": 8_000_000})
    assert len(outcome.result["letters"]) == 8_000_000
    assert len(json.dumps(outcome.envelope)) < 1 << 20


def test_a_reference_that_a_tool_invents_reads_no_file(tmp_path: Path) -> None:
    from oneact._outcome import _whole

    digest = hashlib.sha256(b"[1]").hexdigest()
    own, other = tmp_path / f"sha256-{digest}.json", tmp_path / "notes.json"
    for path in (own, other):
        path.write_bytes(b"[1]")

    def read(path: Path, sha256: str = digest) -> object:
        data = {"$blob": {"storage_uri": path.as_uri(), "sha256": sha256}}
        whole = _whole(data)
        return None if whole == data else whole

    assert read(own) == [1]
    assert read(other) is None
    own.write_bytes(b"[2]")
    assert read(own) is None
    own.unlink()
    assert read(own) is None


def test_a_plan_is_shown_and_then_applied(client: oneact.Oneact, root: Path) -> None:
    task = oneact.Task.plan(PLAN)
    shown = client.perform(task, dry_run=True)
    assert shown.state == "planned" and "+Hello" in shown.result["diff"] and not (root / "hello.txt").exists()
    other = client.perform(oneact.Task.plan({**PLAN, "plan_id": "plan-2"}), expect="sha256:" + "0" * 64)
    assert other.fault == "preview_changed"
    done = client.perform(task, expect=shown.result["hash"])
    assert done.result["status"] == "SUCCESS" and (root / "hello.txt").read_text() == "Hello\n"


def test_a_request_waits_for_its_approval(client: oneact.Oneact, root: Path) -> None:
    task = oneact.Task.call("send", {"text": "Hello"}, session_id="s1")
    waiting = client.perform(task)
    assert waiting.is_waiting and waiting.approval_id is not None and waiting.text == waiting.message
    with pytest.raises(oneact.ApprovalRequired) as raised:
        waiting.raise_for_fault()
    assert raised.value.approval_id == waiting.approval_id and isinstance(raised.value, oneact.DependencyError)
    early = client.perform_approved(waiting.approval_id)
    assert early.fault == "approval_required" and early.effect == "none"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_run_with_a_timeout_is_cancelled_and_says_so(kind: str, root: Path) -> None:
    task = oneact.Task.call("work", {"seconds": 300})
    if kind == "sync":
        outcome = oneact.Oneact(root).perform(task, timeout=1.0)
    else:
        outcome = asyncio.run(oneact.AsyncOneact(root).perform(task, timeout=1.0))
    assert (outcome.state, outcome.fault, outcome.exit_code) == ("cancelled", "cancelled", 143)


def test_a_cancelled_asyncio_task_cancels_its_run(async_client: oneact.AsyncOneact, root: Path) -> None:
    async def main() -> None:
        run = asyncio.ensure_future(async_client.call("work", {"seconds": 300}, session_id="s1"))
        while not (root / "started").exists():
            await asyncio.sleep(0.02)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())
    [step] = history(root)["steps"]
    assert step["state"] == "cancelled"


def test_an_interrupted_program_cancels_its_run(root: Path) -> None:
    # Python does not catch a signal that whoever started it ignores.
    program = (
        "import oneact, signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "oneact.Oneact(sys.argv[1]).call('work', {'seconds': 300}, session_id='s1')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(root)], stderr=subprocess.PIPE, text=True)
    while not (root / "started").exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=10)
    assert "KeyboardInterrupt" in stderr
    [step] = history(root)["steps"]
    assert step["state"] == "cancelled"


def test_many_runs_at_once(async_client: oneact.AsyncOneact) -> None:
    async def main() -> list[oneact.Outcome]:
        return await asyncio.gather(*[async_client.call("add", {"a": number, "b": 1}) for number in range(12)])

    assert [outcome.result["sum"] for outcome in asyncio.run(main())] == list(range(1, 13))


def test_variables_and_flags_are_passed_on(root: Path) -> None:
    client = oneact.Oneact(root, env={"ONEACT_LEDGER": "none"}, args=("--clock", "2026-02-24T10:00:00+00:00[UTC]"))
    outcome = client.call("echo", {"text": "Hello"})
    assert outcome.facts["ledger"] is None
    assert outcome.envelope["timestamp"]["executed_at"] == "2026-02-24T10:00:00.000+00:00"


def test_what_oneact_cannot_read_is_not_sent(client: oneact.Oneact) -> None:
    deep: object = "x"
    for _ in range(2000):
        deep = [deep]
    for wrong in (float("nan"), float("inf"), "\ud800", deep):
        with pytest.raises(ValueError, match="JSON"):
            client.perform(oneact.Task.call("echo", {"text": wrong}))
    for task in (oneact.Task.call("echo", idempotency_key="\udc80"), oneact.Task.call("echo", salt="\udc80")):
        with pytest.raises(ValueError, match="surrogate"):
            client.perform(task)


def history(root: Path) -> dict[str, list[dict[str, object]]]:
    argv = [os.environ["ONEACT_BINARY"], "history", "--root", str(root), "--json"]
    said: dict[str, list[dict[str, object]]] = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    return said


def test_a_run_tells_its_progress_and_can_be_stopped(async_client: oneact.AsyncOneact) -> None:
    async def test() -> None:
        stop = asyncio.Event()
        told = []

        def tell(progress: dict[str, object]) -> None:
            told.append(progress)
            if progress.get("done") == 1:
                stop.set()

        task = oneact.Task.call("work", {"seconds": 40, "steps": 100})
        outcome = await async_client.perform(task, stop=stop, progress=tell)
        assert (outcome.state, outcome.exit_code) == ("cancelled", 143)
        steps = [progress for progress in told if "done" in progress]
        assert steps[1] == {"tool": "work", "done": 1, "total": 100, "message": "step 1"}
        assert "step 1" not in outcome.stderr and "cancelled" in outcome.stderr

    asyncio.run(test())


def test_what_is_progress_and_what_is_not() -> None:
    told: list[object] = []
    heartbeat = b'{"heartbeat": {"phase": "call", "waiting_for": null, "elapsed_ms": 5}}'
    others = [b"oneact: warning", b'{"progress": 1}', b'{"progress": {"tool"', b'{"result": {}}']
    assert sorted_out([others[0], heartbeat, *others[1:]], told.append) == b"".join(line + b"\n" for line in others)
    assert told == [{"phase": "call", "waiting_for": None, "elapsed_ms": 5}]


def test_a_run_waits_for_its_approval_no_longer_than_it_is_told(client: oneact.Oneact) -> None:
    outcome = client.perform(oneact.Task.call("send", {"text": "hello"}), wait=0.2)
    assert outcome.is_waiting and outcome.effect == "none"
    assert "oneact approve" in outcome.stderr
