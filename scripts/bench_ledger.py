"""The ledger, for scripts/bench: what recording costs, and whether a large record is as quick as a small one."""

import contextlib
import glob
import json
import os
import shutil
import socket
import sqlite3
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

SMALL, LARGE = 1_000, 1_000_000
PROCESSES, EACH = 16, 25


def task(session, number, what):
    return json.dumps({"metadata": {"session_id": session, "request_id": f"r{number}"},
                       "dispatch": {"task_id": f"t{number}", "attempt": 1, "capability_ids": ["echo"],
                                    "parameters": {"text": what}}}).encode()


def run(oneact, cwd, stdin, ledger=None):
    env = {**os.environ, **({"ONEACT_LEDGER": ledger} if ledger else {})}
    begin = time.perf_counter()
    done = subprocess.run([oneact], cwd=cwd, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    elapsed = (time.perf_counter() - begin) * 1000
    assert done.returncode == 0, (done.returncode, done.stderr[-300:], done.stdout[-600:])
    return elapsed, done.stdout


def fill(path, rows):
    """Adds rows like the newest one, each with a link, until there are so many."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    # An older SQLite than the program's takes NULL for bad JSON.
    db.execute("PRAGMA ignore_check_constraints = ON")
    columns = [name for _, name, *_ in db.execute("PRAGMA table_info(agent_actions)")]
    row = dict(zip(columns, db.execute("SELECT * FROM agent_actions ORDER BY seq DESC LIMIT 1").fetchone()))
    seq, before = db.execute("SELECT seq, entry_hash FROM ledger_events ORDER BY seq DESC LIMIT 1").fetchone()
    have = db.execute("SELECT count(*) FROM agent_actions").fetchone()[0]
    db.execute("PRAGMA cache_size = -1000000")

    def each():
        for number in range(have, rows):
            yield number, seq + 1 + number - have, f"other-{number // 100}", number % 100

    def links():
        last = before
        for number, at, session, step in each():
            yield at, f"op_{number}", session, step, "succeeded", row["timestamp"], "bench", "{}", last, f"{at:064x}"
            last = f"{at:064x}"

    def actions():
        for number, at, session, step in each():
            yield tuple({**row, "id": f"{number:032x}", "session_id": session, "step_index": step, "seq": at,
                         "operation_id": f"op_{number}", "task_id": f"t{number}", "request_id": f"r{number}",
                         "request_hash": f"sha256:{number:064x}"}.values())

    claim = db.execute("SELECT * FROM claims ORDER BY seq DESC LIMIT 1").fetchone()
    names = [name for _, name, *_ in db.execute("PRAGMA table_info(claims)")]

    def claims():
        for number, at, session, step in each():
            yield tuple({**dict(zip(names, claim)), "seq": at, "began": at, "sent": at, "ended": at, "session_id": session,
                         "claimed": f"sha256:{number:064x}", "request_hash": f"sha256:{number:064x}",
                         "operation_id": f"op_{number}", "delivery": f"delivery:{number:064x}",
                         "task_id": f"t{number}"}.values())

    with db:
        db.executemany("INSERT INTO sessions VALUES (?, ?, 'AGENT_AUTONOMOUS', 'default', 'bench', '2026-01-01T00:00:00.000Z')",
                       ((at, session) for number, at, session, step in each() if step == 0 or number == have))
        db.executemany("INSERT INTO ledger_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", links())
        db.executemany(f"INSERT INTO agent_actions VALUES ({', '.join('?' * len(columns))})", actions())
        db.executemany(f"INSERT INTO claims VALUES ({', '.join('?' * len(names))})", claims())
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def reused(oneact, parts, catalog, rounds):
    nothing, times = [], {SMALL: [], LARGE: []}
    with tempfile.TemporaryDirectory() as base:
        for rows in times:
            root = os.path.join(base, str(rows))
            os.mkdir(root)
            shutil.copy(catalog, root)
            run(oneact, root, task("s", 0, "hello"))
            fill(os.path.join(root, ".oneact", "ledger.db"), rows)
        for number in range(1, rounds + 4):
            begin = time.perf_counter()
            subprocess.run([f"{parts}/nothing"], input=b"", stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
            nothing.append((time.perf_counter() - begin) * 1000)
            for rows, values in times.items():
                elapsed, out = run(oneact, os.path.join(base, str(rows)), task("s", number, "hello"))
                assert b'"state":"reused"' in out, out[-500:]
                if number > 3:
                    values.append(elapsed)
    floor = statistics.median(nothing[3:])
    print(f"\nledger  a reused request  ({rounds} rounds)")
    print(f"  a program that does nothing              {floor:9.2f} ms")
    for rows, values in times.items():
        print(f"  reused, of {rows:>9,} rows                {statistics.median(values):9.2f} ms  {statistics.median(values) / floor:8.2f} ×")
    print(f"  apart                                                 {statistics.median(times[LARGE]) / statistics.median(times[SMALL]):8.2f} ×")


def answers(oneact, catalog, ledger, name):
    """Answers a second that many processes get, each to requests of its own."""
    with tempfile.TemporaryDirectory() as root:
        shutil.copy(catalog, root)
        run(oneact, root, task("warm", 0, "warm"), ledger)

        def one(process):
            for number in range(EACH):
                run(oneact, root, task(f"s{process}", number, f"{process}-{number}"), ledger)

        begin = time.perf_counter()
        with ThreadPoolExecutor(PROCESSES) as pool:
            list(pool.map(one, range(PROCESSES)))
        elapsed = time.perf_counter() - begin
        print(f"  {PROCESSES} processes, {name:<30} {PROCESSES * EACH / elapsed:9.0f} answers/s")
        path = os.path.join(root, ".oneact", "ledger.db")
        return path_rows(path) if ledger is None else None


@contextlib.contextmanager
def postgres():
    """A server of our own, as safe as it comes: the address of an empty database in it."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")) or [shutil.which("initdb")]
    if not found[-1]:
        yield None
        return
    programs = os.path.dirname(found[-1])
    with tempfile.TemporaryDirectory() as base:
        user = []
        if os.getuid() == 0:
            shutil.chown(base, "postgres", "postgres")
            user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        data = os.path.join(base, "data")
        subprocess.run([*user, f"{programs}/initdb", "-D", data, "-U", "oneact", "-A", "trust", "--locale=C", "-E", "UTF8"],
                       cwd=base, check=True, capture_output=True)
        server = subprocess.Popen([*user, f"{programs}/postgres", "-D", data, "-k", base, "-p", str(port),
                                   "-c", "listen_addresses=127.0.0.1"], cwd=base, stderr=subprocess.DEVNULL)
        try:
            while subprocess.run([f"{programs}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]).returncode != 0:
                assert server.poll() is None, "PostgreSQL did not start"
                time.sleep(0.05)
            yield f"postgres://oneact@127.0.0.1:{port}/postgres?sslmode=disable"
        finally:
            server.terminate()
            server.wait()


def path_rows(path):
    db = sqlite3.connect(path)
    rows = db.execute("SELECT id, request, response, session_id, step_index FROM agent_actions").fetchall()
    db.close()
    return rows


def plain(rows):
    """One process that commits the same rows to a plain table, each safe on the disk."""
    with tempfile.TemporaryDirectory() as base:
        db = sqlite3.connect(os.path.join(base, "plain.db"), isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE rows (id TEXT PRIMARY KEY, request TEXT, response TEXT, session_id TEXT, step_index INTEGER)")
        begin = time.perf_counter()
        for row in rows:
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", row)
            db.execute("COMMIT")
        elapsed = time.perf_counter() - begin
        print(f"  one process, the same rows in plain SQLite    {len(rows) / elapsed:9.0f} rows/s")


def load(ledger):
    """Requests a second that one process begins and ends, with 16 connections and a session for each."""
    subprocess.run(["cargo", "test", "--release", "--quiet", "--lib", "ledger::tests::load", "--", "--ignored", "--nocapture"],
                   env={**os.environ, **({"ONEACT_LOAD_POSTGRES": ledger} if ledger else {})}, check=True)


def section(oneact, parts, catalog, rounds):
    reused(oneact, parts, catalog, rounds)
    print("\nledger  answers to new requests")
    rows = answers(oneact, catalog, None, "SQLite")
    plain(rows)
    with postgres() as shared:
        if shared:
            answers(oneact, catalog, shared, "PostgreSQL")
            load(shared)
        else:
            print("  PostgreSQL left out: there is no initdb here")
