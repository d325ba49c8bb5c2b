"""SQL of plans, for scripts/bench: what the jail and the plan cost, and a large query against DuckDB's command line.

Needs cc, and DuckDB's library and command line as scripts/setup-tests installs them.
"""

import json
import os
import platform
import random
import statistics
import subprocess
import tempfile
import time

BYTES = int(os.environ.get("BENCH_SQL_BYTES", "1000000000"))
MEMORY, THREADS = "512 MB", 2
QUERY = ("SELECT region, count(*) AS sales, sum(amount) AS total, max(day) AS latest FROM read_csv('sales.csv') "
         "GROUP BY region ORDER BY region")


def installed(servers):
    word = "arm64" if platform.machine() == "aarch64" else "x64"
    library = os.path.join(servers, f"duckdb_1.5.6/node_modules/@duckdb/node-bindings-linux-{word}/libduckdb.so")
    [cli] = [os.path.join(at, "duckdb") for at, _, names in os.walk(os.path.join(servers, "duckdb_python", "lib"))
             if at.endswith("duckdb_cli") and "duckdb" in names]
    return library, cli


def run(argv, cwd, stdin=b"", **more):
    """Milliseconds, and the peak memory of the largest process in MB."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as told:
        given.write(stdin)
        given.seek(0)
        begin = time.perf_counter()
        process = subprocess.Popen(argv, cwd=cwd, stdin=given, stdout=told, stderr=told, env={**os.environ, **more})
        _, status, usage = os.wait4(process.pid, 0)
        took = (time.perf_counter() - begin) * 1000
        told.seek(0)
        assert status == 0, (argv, status, told.read()[-600:])
    return took, usage.ru_maxrss / 1024


def plan(operation, target="query.sql", kind="SQL_EXECUTE"):
    return json.dumps({"plan_id": "bench", "protocol_validation": True, "action_plan": [
        {"action_id": "a1", "action_type": kind, "target": target, "operation": operation}]}).encode()


def write_sales(path):
    generator, number, size = random.Random(1), 0, 0
    with open(path, "w", encoding="utf-8") as file:
        file.write("id,customer,region,amount,day,note\n")
        while size < BYTES:
            rows = []
            for number in range(number + 1, number + 10001):
                rows.append(f"{number},C{generator.randrange(200000):06d},R{generator.randrange(50):02d},"
                            f"{generator.randrange(1, 1000000) / 100:.2f},2026-{generator.randrange(1, 13):02d}-"
                            f"{generator.randrange(1, 29):02d},note number {number}\n")
            size += file.write("".join(rows))


def rounds_of(variants, rounds):
    """The medians of each, run in turn."""
    seen = {name: [] for name, _ in variants}
    for _ in range(rounds):
        for name, variant in variants:
            seen[name].append(variant())
    return {name: tuple(statistics.median(part) for part in zip(*all)) for name, all in seen.items()}


def section(oneact, servers, rounds):
    library, cli = installed(servers)
    with tempfile.TemporaryDirectory() as base:
        bare = os.path.join(base, "bare")
        source = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench", "sql.c")
        subprocess.run(["cc", "-O2", "-o", bare, source, "-ldl"], check=True)
        root = os.path.join(base, "root")
        os.mkdir(root)
        with open(os.path.join(root, "query.sql"), "w", encoding="utf-8") as file:
            file.write("select 42")
        with open(os.path.join(root, "catalog.toml"), "w", encoding="utf-8") as file:
            file.write(f'catalog = 1\n[duckdb]\nlibrary = "{library}"\nmemory = "{MEMORY}"\nthreads = {THREADS}\n')
        made = iter(range(10 ** 9))
        # A plan that makes a file, and the same plan with a query: the difference is the query's.
        create = {"type": "create", "content": "x"}

        def created(query):
            actions = json.loads(plan(create, f"made_{next(made)}.txt", "FILE_CREATE"))
            if query:
                actions["action_plan"] += json.loads(plan({"type": "sql_execute"}).decode().replace('"a1"', '"a2"'))["action_plan"]
            return run([oneact], root, json.dumps(actions).encode(), ONEACT_LEDGER="none")

        small = rounds_of([
            ("bare", lambda: run([bare, library, "select 42"], root)),
            ("plan with a file", lambda: created(False)),
            ("plan with a file and select 42", lambda: created(True)),
        ], rounds)
        cost = small["plan with a file and select 42"][0] - small["plan with a file"][0] - small["bare"][0]
        for name, (took, peak) in small.items():
            print(f"  {name:34} {took:8.1f} ms {peak:8.1f} MB")
        print(f"  select 42 in a plan, over the bare program: {cost:.1f} ms (at most 25)")
        write_sales(os.path.join(root, "sales.csv"))
        with open(os.path.join(root, "query.sql"), "w", encoding="utf-8") as file:
            file.write(QUERY)

        def asked():
            name = f"out_{next(made)}.parquet"
            given = {"type": "sql_execute", "reads": ["sales.csv"], "save_results_to": name}
            return run([oneact], root, plan(given), ONEACT_LEDGER="none")

        settings = f"SET memory_limit='512MiB'; SET threads={THREADS}"
        command = f"{settings}; COPY ({QUERY}) TO '{base}/cli.parquet' (FORMAT parquet)"
        large = rounds_of([
            ("DuckDB's command line", lambda: run([cli, "-c", command], root)),
            ("plan", asked),
        ], max(3, rounds // 20))
        for name, (took, peak) in large.items():
            print(f"  {name:34} {took:8.0f} ms {peak:8.1f} MB")
        (cli_ms, cli_mb), (plan_ms, plan_mb) = large["DuckDB's command line"], large["plan"]
        print(f"  {BYTES / 1e9:.1f} GB: {plan_ms / cli_ms:.2f} x the time, {plan_mb / cli_mb:.2f} x the memory (at most 1.10)")
