"""Diffs and edits of large files, for scripts/bench.

A diff of 100 files is applied by `apply --yes`, and the plan that it becomes by `run`; both variants get a fresh copy of the
same tree. An edit of one line of a file of 40 MB is compared with a copy of that file that is on the disk when it ends.
"""

import json
import os
import shutil
import statistics
import tempfile

from bench_plans import BYTES, FILES, NEW, OLD, changed, content, make_tree, names, quiet, timed

LARGE = 40_000_000


def shown(title, times, floor):
    print(f"\nedits  {title}  ({len(times[floor])} rounds)")
    base = statistics.median(times[floor])
    for name, values in times.items():
        median = statistics.median(values)
        print(f"  {name:<44} {median:9.1f} ms  ({min(values):.0f}–{max(values):.0f})  {median / base:7.2f} ×")


def rounds_of(base, template, variants, rounds, check):
    """Runs the variants in turn, each in a copy of the template."""
    times = {name: [] for name, _ in variants}
    for number in range(rounds):
        turn = number % len(variants)
        for name, work in variants[turn:] + variants[:turn]:
            root = os.path.join(base, f"work{sum(map(len, times.values()))}")
            shutil.copytree(template, root)
            times[name].append(timed(lambda: work(root)))
            check(name, root)
            # Copies of large trees would fill the disk.
            for file in os.scandir(root):
                if file.is_file() and file.stat().st_size > LARGE // 2:
                    os.remove(file.path)
    return times


def of_a_diff(oneact, rounds):
    with tempfile.TemporaryDirectory() as base:
        template = os.path.join(base, "template")
        os.mkdir(template)
        make_tree(template, FILES, BYTES)
        after = os.path.join(base, "after")
        shutil.copytree(template, after)
        quiet("git", "init", "-q", cwd=after)
        quiet("git", "add", "-A", cwd=after)
        quiet("git", "commit", "-q", "-m", "before", cwd=after)
        for name in names(FILES):
            path = os.path.join(after, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(OLD, NEW))
        diff = quiet("git", "diff", cwd=after)
        plan = json.loads(quiet(oneact, "plan", "from-diff", cwd=template, stdin=diff))
        plan = json.dumps({"task_plan": plan, "protocol_validation": True}).encode()
        variants = [
            ("the plan of the diff, by run", lambda root: quiet(oneact, cwd=root, stdin=plan)),
            ("the diff, by apply --yes", lambda root: quiet(oneact, "apply", "--yes", cwd=root, stdin=diff)),
        ]
        times = rounds_of(base, template, variants, rounds, lambda _, root: changed(root))
        shown(f"a diff of {FILES} files of {BYTES / 1000:.0f} KB", times, variants[0][0])


def of_a_large_file(oneact, rounds):
    with tempfile.TemporaryDirectory() as base:
        template = os.path.join(base, "template")
        os.mkdir(template)
        with open(os.path.join(template, "large.txt"), "w", encoding="utf-8") as file:
            file.write(content(LARGE))
        edit = {"type": "edit", "old_string": OLD, "new_string": NEW}
        plan = json.dumps({"plan_id": "large", "protocol_validation": True, "action_plan": [
            {"action_id": "a1", "action_type": "FILE_MODIFY", "target": "large.txt", "operation": edit}]}).encode()
        variants = [
            ("cp and sync of the copy", lambda root: quiet("sh", "-c", "cp large.txt copy.txt && sync copy.txt .", cwd=root)),
            ("an edit of one line", lambda root: quiet(oneact, cwd=root, stdin=plan)),
        ]

        def check(name, root):
            with open(os.path.join(root, "large.txt"), encoding="utf-8") as file:
                assert (NEW in file.read()) == (name == variants[1][0]), name

        times = rounds_of(base, template, variants, rounds, check)
        shown(f"an edit in a file of {LARGE / 1e6:.0f} MB", times, variants[0][0])


def section(oneact, rounds):
    of_a_diff(oneact, rounds)
    of_a_large_file(oneact, rounds)
