"""File plans, for scripts/bench: against what else changes a hundred files, and as they grow.

Every variant gets a fresh copy of the same tree; copying and waiting for the disk are not measured. Copies stay
until the end: ext4 passes over inodes that were freed in the last five seconds, one by one, so whoever creates files
after a copy was cleared away would be measured by what was cleared.
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

FILES, DIRECTORIES, BYTES = 100, 10, 10_000
OLD, NEW = "the line to change", "the line that was changed"


def content(size):
    """Text of that size with one line to change in its middle."""
    line = "a line of text that stays as it is\n"
    half = line * max(0, (size - len(OLD)) // len(line) // 2)
    return half + OLD + "\n" + half


def make_tree(root, files, size):
    for number in range(files):
        directory = os.path.join(root, f"dir_{number % DIRECTORIES}")
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, f"file_{number}.txt"), "w", encoding="utf-8") as file:
            # No two files are the same: git would store their content once.
            file.write(f"file {number}\n{content(size)}")


def names(files):
    return [f"dir_{number % DIRECTORIES}/file_{number}.txt" for number in range(files)]


def plan(files):
    edit = {"type": "text_replace", "pattern": OLD, "replacement": NEW}
    actions = [{"action_id": f"a{number:03}", "action_type": "FILE_MODIFY", "target": name, "operation": edit}
               for number, name in enumerate(names(files))]
    return json.dumps({"plan_id": "bench", "protocol_validation": True, "action_plan": actions}).encode()


FIRST = json.dumps({"plan_id": "first", "protocol_validation": True, "action_plan": [
    {"action_id": "a1", "action_type": "FILE_CREATE", "target": "first.txt", "operation": {"type": "create", "content": "first"}}]}).encode()


def quiet(*argv, cwd, stdin=None, **more):
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@b",
           "GIT_COMMITTER_NAME": "b", "GIT_COMMITTER_EMAIL": "b@b", "ANSIBLE_LOCALHOST_WARNING": "False", **more}
    done = subprocess.run(argv, cwd=cwd, input=stdin, capture_output=True, env=env)
    assert done.returncode == 0, (argv, done.returncode, done.stdout[-400:], done.stderr[-400:])
    return done.stdout


def timed(run):
    os.sync()
    begin = time.perf_counter()
    run()
    return (time.perf_counter() - begin) * 1000


def changed(root, files=FILES):
    for name in names(files):
        with open(os.path.join(root, name), encoding="utf-8") as file:
            assert NEW in file.read(), name


def one_write(root):
    """The floor: the same bytes, written and synced once."""
    with open(os.path.join(root, "floor"), "wb") as file:
        file.write(b"x" * FILES * BYTES)
        file.flush()
        os.fdatasync(file.fileno())


def make_project(oneact, base, files):
    """A project that is in use, with a repository and with a ledger; and the changes as git tells them."""
    template, after = os.path.join(base, "template"), os.path.join(base, "after")
    os.mkdir(template)
    make_tree(template, files, BYTES)
    quiet("git", "init", "-q", cwd=template)
    with open(os.path.join(template, ".git", "info", "exclude"), "w", encoding="utf-8") as excluded:
        excluded.write(".oneact/\nagent_outputs/\nagent_logs/\n")
    quiet(oneact, cwd=template, stdin=FIRST)
    quiet("git", "add", "-A", cwd=template)
    quiet("git", "commit", "-q", "-m", "before", cwd=template)
    shutil.copytree(template, after)
    for name in names(files):
        path = os.path.join(after, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(OLD, NEW))
    return template, quiet("git", "diff", cwd=after)


def against_others(oneact, clients, rounds):
    with tempfile.TemporaryDirectory() as base:
        template, patch = make_project(oneact, base, FILES)
        work = plan(FILES)
        playbook = os.path.join(base, "play.yml")
        with open(playbook, "w", encoding="utf-8") as file:
            json.dump([{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [
                {"ansible.builtin.replace": {"path": "{{ root }}/{{ item }}", "regexp": OLD, "replace": NEW, "backup": True},
                 "loop": names(FILES)}]}], file)

        def git(root):
            quiet("git", "apply", cwd=root, stdin=patch)
            quiet("git", "add", "-A", cwd=root)
            quiet("git", "commit", "-q", "-m", "after", cwd=root)

        ansible = f"{clients}/ansible/bin/ansible-playbook"
        variants = [
            ("1 MB written and synced once", one_write, None),
            ("oneact, checkpoint, reports, and recorded", lambda root: quiet(oneact, cwd=root, stdin=work), changed),
            ("oneact, checkpoint and reports", lambda root: quiet(oneact, cwd=root, stdin=work, ONEACT_LEDGER="none"), changed),
            ("git apply + git add -A + git commit", git, changed),
            ("patch -p1 -b", lambda root: quiet("patch", "-p1", "-b", "-s", cwd=root, stdin=patch), changed),
        ]
        times = {name: [] for name, _, _ in variants}

        def run(name, work, check):
            root = os.path.join(base, f"work{sum(map(len, times.values()))}")
            shutil.copytree(template, root, symlinks=True)
            times.setdefault(name, []).append(timed(lambda: work(root)))
            if check:
                check(root)

        for number in range(rounds):
            for name, work_, check in variants[number % len(variants):] + variants[:number % len(variants)]:
                run(name, work_, check)
        if os.path.exists(ansible):
            run("Ansible, replace with backup (once)",
                lambda root: quiet(ansible, "-i", "localhost,", "-e", f"root={root}", "-e",
                                   f"ansible_python_interpreter={clients}/ansible/bin/python", playbook, cwd=root), changed)
        floor = statistics.median(times[variants[0][0]])
        git_median = statistics.median(times[variants[3][0]])
        print(f"\nplans  {FILES} modifications of {BYTES / 1000:.0f} KB in {DIRECTORIES} directories  ({rounds} rounds)")
        for name, values in times.items():
            median = statistics.median(values)
            spread = f"({min(values):.0f}–{max(values):.0f})"
            print(f"  {name:<44} {median:9.1f} ms  {spread:<14} {median / floor:7.2f} × floor  {median / git_median:7.2f} × git")


def disks(oneact, before, patchloom, rounds):
    """One file and all files against git: where flushes cost nothing, and where each takes 5 ms (strace; needs tmpfs at /dev/shm).

    git waits for no flush by default, so that it is told to wait for all where they cost something."""
    slow = ["strace", "-f", "--seccomp-bpf", "-qqq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync,syncfs", "-e", "signal=none",
            "--inject=fsync,fdatasync,syncfs:delay_exit=5000"]
    for what, disk, wrap, core in [("on a quick disk (tmpfs)", "/dev/shm", [], []),
                                   ("where a flush takes 5 ms", None, slow, ["-c", "core.fsync=all"])]:
        # What others have just removed would be measured, too.
        time.sleep(6)
        with tempfile.TemporaryDirectory(dir=disk) as base:
            for files in (1, FILES):
                place = os.path.join(base, str(files))
                os.mkdir(place)
                against_git(what, place, files, (oneact, before, patchloom), (wrap, core), rounds)


def against_git(what, base, files, programs, disk, rounds):
    oneact, before, patchloom = programs
    wrap, core = disk
    template, patch = make_project(oneact, base, files)
    work = plan(files)
    transaction = os.path.join(base, "plan.json")
    with open(transaction, "w", encoding="utf-8") as file:
        json.dump({"version": 1, "operations": [{"op": "replace", "path": name, "old": OLD, "new": NEW} for name in names(files)]}, file)

    # In one process, so that strace starts once.
    script = " && ".join(" ".join(["git", *core, *step]) for step in (["apply"], ["add", "-A"], ["commit", "-q", "-m", "after"]))
    variants = {"git apply + git add -A + git commit": lambda root: quiet(*wrap, "sh", "-c", script, cwd=root, stdin=patch),
                "oneact": lambda root: quiet(*wrap, oneact, cwd=root, stdin=work)}
    if before:
        variants["oneact, the build before"] = lambda root: quiet(*wrap, before, cwd=root, stdin=work)
    if patchloom and not wrap:
        variants["patchloom tx --apply"] = lambda root: quiet(patchloom, "tx", transaction, "--apply", cwd=root)
    times = {name: [] for name in variants}
    order = list(variants.items())
    for number in range(rounds):
        for name, run in order[number % len(order):] + order[:number % len(order)]:
            root = os.path.join(base, f"work{sum(map(len, times.values()))}")
            shutil.copytree(template, root, symlinks=True)
            times[name].append(timed(lambda: run(root)))
            changed(root, files)
            if base.startswith("/dev/shm"):
                shutil.rmtree(root)
    own = statistics.median(times["oneact"])
    print(f"\nplans  {files} modification{'s' * (files > 1)} of {BYTES / 1000:.0f} KB {what}  ({rounds} rounds)")
    for name, values in times.items():
        median = statistics.median(values)
        print(f"  {name:<44} {median:9.1f} ms  ({min(values):.0f}–{max(values):.0f})   oneact is {own / median:6.2f} ×")


def flushes(oneact):
    """Flushes and writes that reach a disk of our own; needs root and a loop device."""
    with tempfile.TemporaryDirectory() as base:
        image, mount = os.path.join(base, "disk"), os.path.join(base, "mnt")
        os.mkdir(mount)
        with open(image, "wb") as file:
            file.truncate(256 * 2**20)
        try:
            quiet("mkfs.ext4", "-q", "-F", image, cwd=base)
            device = quiet("losetup", "--find", "--show", image, cwd=base).decode().strip()
        except (AssertionError, FileNotFoundError) as error:
            print(f"\nplans  flushes left out: {str(error)[:100]}")
            return
        try:
            quiet("mount", device, mount, cwd=base)
            try:
                make_tree(mount, FILES, BYTES)
                os.sync()
                stat = f"/sys/block/{os.path.basename(device)}/stat"

                def read():
                    with open(stat, encoding="ascii") as file:
                        fields = file.read().split()
                    return int(fields[15]), int(fields[4]), int(fields[6]) / 2048

                before = read()
                elapsed = timed(lambda: quiet(oneact, cwd=mount, stdin=plan(FILES)))
                after = read()
                told = [b - a for a, b in zip(before, after)]
                print(f"\nplans  on an ext4 of its own: {told[0]} flushes, {told[1]} writes, {told[2]:.1f} MB, {elapsed:.0f} ms")
            finally:
                quiet("umount", mount, cwd=base)
        finally:
            quiet("losetup", "-d", device, cwd=base)


def growth(oneact, measured, rounds):
    print(f"\nplans  as they grow  (medians of {rounds})")
    cases = [(1, BYTES), (10, BYTES), (100, BYTES), (1, 1_000), (1, 100_000), (1, 1_000_000), (1, 10_000_000), (1, 50_000_000)]
    for files, size in cases:
        times, peaks = [], []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as root:
                make_tree(root, files, size)
                os.sync()
                begin = time.perf_counter()
                peaks.append(measured([oneact], plan(files), root)[1])
                times.append((time.perf_counter() - begin) * 1000)
        peak = statistics.median(peaks)
        print(f"  {files:>4} × {size / 1000:>8.0f} KB {statistics.median(times):9.1f} ms   {peak:7.1f} MiB peak"
              f"   {peak * 2**20 / size:6.2f} × the largest file")


def section(oneact, clients, measured, rounds):
    against_others(oneact, clients, rounds)
    patchloom = os.path.join(clients, "patchloom", "bin", "patchloom")
    disks(oneact, os.environ.get("ONEACT_BEFORE"), patchloom if os.path.exists(patchloom) else None, rounds)
    flushes(oneact)
    growth(oneact, measured, 3)
