"""Diffs, for scripts/check-diffs: reading those of git, and writing them as agents and programs write diffs.

A rewriting is None if there is nothing to rewrite. The Begin Patch text and the plan of strings cannot express every
change. They come with the changes that they express.
"""

import collections
import json
import os
import re

# The files that a plan changes only after an approval. A plan, other than a diff, cannot be approved by an option.
PROTECTED = re.compile(r"(^|/)(\.git/|\.env|credentials\.json$|secrets\.|requirements\.txt$|pyproject\.toml$|setup\.py$|"
                       r"\.pre-commit-config\.yaml$|\.github/workflows/|\.gitlab-ci\.yml$|\.husky/|\.envrc$|\.gitmodules$|"
                       r"\.vscode/tasks\.json$|\.mcp\.json$|\.claude/|\.cursor/|catalog\.toml$)")

Change = collections.namedtuple("Change", "status old_mode new_mode old new")
Hunk = collections.namedtuple("Hunk", "old_start old_count new_start new_count tail lines")


def parse(diff):
    """The sections of a diff by git: a list of (header lines, hunks)."""
    sections, lines, at = [], diff.split(b"\n")[:-1], 0
    while at < len(lines):
        head = re.match(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$", lines[at], re.S)
        if lines[at].startswith(b"diff --git "):
            sections.append(([], []))
        if not head:
            sections[-1][0].append(lines[at])
            at += 1
            continue
        start, old, start_new, new = (int(field) if field is not None else 1 for field in head.groups()[:4])
        left, right, body = old, new, []
        at += 1
        while left > 0 or right > 0 or (at < len(lines) and lines[at].startswith(b"\\")):
            mark = lines[at][:1]
            left -= mark in b" -"
            right -= mark in b" +"
            body.append(lines[at])
            at += 1
        sections[-1][1].append(Hunk(start, old, start_new, new, head[5], body))
    return sections


def render(sections, edit):
    """The text of a diff in which `edit` has rewritten each hunk of each section."""
    out = []
    for number, (header, hunks) in enumerate(sections):
        out += header
        for hunk in hunks:
            hunk = edit(number, hunk)
            out.append(b"@@ -%d,%d +%d,%d @@%s" % hunk[:5])
            out += hunk.lines
    return b"\n".join(out) + b"\n"


def sides(hunk):
    """The old and the new text of a hunk."""
    texts, previous = [[], []], b""
    for line in hunk.lines:
        if line.startswith(b"\\"):
            for text in texts if previous == b" " else [texts[previous == b"+"]]:
                text[-1] = text[-1][:-1]
            continue
        previous = line[:1]
        for side, marks in enumerate((b" -", b" +")):
            if previous in marks:
                texts[side].append(line[1:] + b"\n")
    return b"".join(texts[0]), b"".join(texts[1])


def counts(sections, chance):
    def wrong(count):
        return max(0, count + chance.choice([-3, -2, -1, 1, 2, 3]))

    def edit(_, hunk):
        return hunk._replace(old_count=wrong(hunk.old_count), new_count=wrong(hunk.new_count))
    return render(sections, edit)


def edited_lines(sections, applies, change):
    """The lines for which `applies` says so are rewritten by `change`. None if there is no such line."""
    if not any(applies(line) for _, hunks in sections for hunk in hunks for line in hunk.lines):
        return None

    def edit(_, hunk):
        return hunk._replace(lines=[change(line) if applies(line) else line for line in hunk.lines])
    return render(sections, edit)


def starts(sections, changes, before, chance):
    """No hunk gets a line at which its old text stands by chance: the diff would then describe another change."""
    def edit(number, hunk):
        if changes[number].status not in "MR" or not hunk.old_count:
            return hunk
        lines = before[changes[number].old][1].split(b"\n")
        old = sides(hunk)[0].removesuffix(b"\n").split(b"\n")
        for _ in range(20):
            wrong = max(1, hunk.old_start + chance.choice([-1, 1]) * chance.randint(1, 30))
            if wrong != hunk.old_start and lines[wrong - 1:wrong - 1 + len(old)] != old:
                return hunk._replace(old_start=wrong, new_start=max(1, hunk.new_start + wrong - hunk.old_start))
        return hunk
    return render(sections, edit)


def fence(diff, chance):
    mark = chance.choice([b"```diff", b"```", b"```patch"])
    return b"Here is the change that you asked for:\n\n" + mark + b"\n" + diff + b"```\n\nIt keeps the rest as it is.\n"


def agent(sections, changes, before, after, chance):
    """The text that begins with `*** Begin Patch`, and the changes that it expresses.

    The format has no modes, and each of its lines ends with a newline. It names no line numbers. An anchor is a line
    between the hunk before and this one.
    """
    seen = collections.Counter(path for change in changes for path in {change.old, change.new})
    out, kept = [b"*** Begin Patch"], []
    for (_, hunks), change in zip(sections, changes):
        contents = [tree[path][1] for tree, path, named in ((before, change.old, change.status in "MR"),
                                                            (after, change.new, change.status != "D")) if named]
        if any(not content.endswith(b"\n") for content in contents) or seen[change.old] > 1 or seen[change.new] > 1:
            continue
        if change.new_mode not in ("100644", "000000") and change.new_mode != change.old_mode:
            continue
        if change.status in "MR" and (change.old_mode != change.new_mode or not hunks) or change.status == "C":
            continue
        kept.append(change)
        name = os.fsencode(change.old)
        if change.status == "D":
            out.append(b"*** Delete File: " + name)
        elif change.status == "A":
            out.append(b"*** Add File: " + name)
            out += [b"+" + line for line in after[change.new][1].split(b"\n")[:-1]]
        else:
            out.append(b"*** Update File: " + name)
            if change.status == "R":
                out.append(b"*** Move to: " + os.fsencode(change.new))
            lines, end = before[change.old][1].split(b"\n")[:-1], 0
            for hunk in hunks:
                anchors = [line for line in lines[end:max(end, hunk.old_start - 1)] if re.match(rb"[A-Za-z_$#<]", line)]
                out.append(b"@@ " + anchors[-1] if anchors and chance.random() < 0.5 else b"@@")
                out += hunk.lines
                end = hunk.old_start - 1 + hunk.old_count
            if end == len(lines) and chance.random() < 0.5:
                out.append(b"*** End of File")
    return (b"\n".join([*out, b"*** End Patch", b""]), kept) if kept else (None, kept)


def strings(sections, changes, before, after):
    """A plan of edits with old and new strings, and the changes that it expresses.

    A file is left out if an old string is not in it exactly once, because an agent has to name such a place differently.
    """
    actions, kept = [], []
    for (_, hunks), change in zip(sections, changes):
        if change.status != "M" or change.old_mode != change.new_mode or PROTECTED.search(change.old) or not hunks:
            continue
        text, edits = before[change.old][1], []
        for old, new in map(sides, hunks):
            if not old or text.count(old) != 1:
                break
            text = text.replace(old, new)
            edits.append({"type": "edit", "old_string": old.decode(), "new_string": new.decode()})
        if len(edits) == len(hunks) and text == after[change.new][1]:
            kept.append(change)
            actions += [{"action_id": f"a{len(actions) + number}", "action_type": "FILE_MODIFY", "target": change.old,
                         "operation": edit} for number, edit in enumerate(edits)]
    plan = {"task_plan": {"plan_id": "p", "action_plan": actions}, "protocol_validation": True}
    return (json.dumps(plan).encode(), kept) if kept else (None, kept)
