"""Assets in a bucket, for scripts/bench: one large file up and down against `aws s3 cp` and `rclone copyto`, on the same
SeaweedFS, and the memory of a file of twice the size.

Needs the servers of scripts/setup-tests. A run of oneact is a whole run: task, tool, checks, its own SHA-256, ledger. Its
tool is a small Python server that renames a file which is there already, so that only the transfer counts.
"""

import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

BYTES = int(os.environ.get("BENCH_S3_BYTES", str(1 << 30)))
KEYS = {"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret123"}
BUCKET = "bench"
MOST_MIB, MOST_TIMES = 64, 1.3

SERVER = '''import json, os, sys
def call(name, arguments):
    if name == "give":
        os.rename(arguments["from"], arguments["output_path"])
    return {"bytes": os.path.getsize(arguments.get("input_path") or arguments["output_path"])}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        method, result = message["method"], {}
        if method == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
        if method == "tools/list":
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("give", "take")]}
        if method == "tools/call":
            params = message["params"]
            result = {"content": [], "structuredContent": call(params["name"], params["arguments"])}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
'''

CATALOG = '''catalog = 1
[storage]
uri = "s3://{bucket}/assets"
endpoint = "{endpoint}"
[server.files]
command = ["python3", "-SE", "server.py"]
[capability.give]
timeout = "600s"
effects = {{ idempotent = true, destructive = false }}
mcp = {{ server = "files", tool = "give" }}
bind = {{ output_path = "output.path" }}
result = {{ kind = "asset", asset_type = "file", format = "any" }}
[capability.take]
timeout = "600s"
effects = {{ read_only = true }}
mcp = {{ server = "files", tool = "take" }}
bind = {{ input_path = "input.path" }}
result = {{ kind = "metadata" }}
'''


class Weed:
    """A SeaweedFS with an empty bucket."""

    def __init__(self, servers, base):
        sockets = [socket.socket() for _ in range(10)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in sockets]
        for each in sockets:
            each.close()
        self.ports, self.endpoint = ports, f"http://127.0.0.1:{ports[0]}"
        names = ["s3.port", "s3.port.grpc", "master.port", "master.port.grpc", "volume.port", "volume.port.grpc",
                 "filer.port", "filer.port.grpc", "admin.port", "admin.port.grpc"]
        argv = [os.path.join(servers, "s3/bin/weed"), "mini", f"-dir={base}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
                *[f"-{name}={port}" for name, port in zip(names, ports)], "-s3.port.iceberg=0", "-s3.port.lance=0",
                "-s3.autoCreateBucket=false", f"-bucket={BUCKET}", "-webdav=false", "-admin.ui=false", "-master.telemetry=false"]
        self.process = subprocess.Popen(argv, cwd=base, env={**os.environ, **KEYS}, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        for _ in range(300):
            try:
                urllib.request.urlopen(self.endpoint, timeout=1)
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.1)
        time.sleep(3)

    def stop(self):
        self.process.kill()
        self.process.wait()
        for name in os.listdir("/tmp"):
            if name.startswith("seaweedfs-") and name.endswith(tuple(f"-{port}.sock" for port in self.ports)):
                os.remove(os.path.join("/tmp", name))


def run(argv, cwd, env, stdin=b""):
    """Seconds, and the peak memory of the largest process in MiB."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as told:
        given.write(stdin)
        given.seek(0)
        begin = time.perf_counter()
        process = subprocess.Popen(argv, cwd=cwd, stdin=given, stdout=told, stderr=told, env=env)
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter() - begin
        told.seek(0)
        assert status == 0, (argv, status, told.read()[-900:])
    return took, usage.ru_maxrss / 1024


def task(capability, number, parameters, uri=None):
    inputs = [{"ref_id": "store_1", "storage_uri": uri, "status": "stored"}] if uri else []
    outputs = [] if uri else ["derived_1"]
    return json.dumps({
        "dispatch": {"task_id": "t", "capability_ids": [capability], "attempt": 1, "parameters": parameters,
                     "input_refs_resolved": inputs, "output_refs_expected": outputs, "salt": str(number)},
        "metadata": {"session_id": f"s{number}"}}).encode()


def make(path, size, source="/dev/urandom"):
    """A file of that size whose blocks differ."""
    block = open(source, "rb").read(1 << 20)
    with open(path, "wb") as file:
        for number in range(size >> 20):
            file.write(number.to_bytes(8, "big"))
            file.write(block[8:])


def section(oneact, servers, rounds):
    with tempfile.TemporaryDirectory(prefix="oneact-bench-s3-") as base:
        data, root = os.path.join(base, "weed"), os.path.join(base, "root")
        os.makedirs(data)
        os.makedirs(root)
        weed = Weed(servers, data)
        try:
            transfers(oneact, servers, rounds, base, root, weed.endpoint)
        finally:
            weed.stop()


def transfers(oneact, servers, rounds, base, root, endpoint):
    with open(os.path.join(root, "catalog.toml"), "w", encoding="utf-8") as file:
        file.write(CATALOG.format(bucket=BUCKET, endpoint=endpoint))
    with open(os.path.join(root, "server.py"), "w", encoding="utf-8") as file:
        file.write(SERVER)
    env = {**os.environ, **KEYS, "AWS_DEFAULT_REGION": "us-east-1", "ONEACT_ROOT": root}
    source, spare = os.path.join(base, "source"), os.path.join(root, "spare")
    make(source, BYTES)
    remote = f":s3,provider=SeaweedFS,env_auth=true,endpoint='{endpoint}':{BUCKET}"
    aws = [os.path.join(servers, "s3/bin/aws"), "--endpoint-url", endpoint, "s3", "--only-show-errors"]
    rclone = [os.path.join(servers, "s3/bin/rclone"), "--config", "", "copyto"]
    number = 0

    def ours(capability, parameters, uri=None):
        nonlocal number
        number += 1
        return run([oneact], root, env, task(capability, number, parameters, uri))

    def up_ours():
        shutil.copyfile(source, spare)
        return ours("give", {"from": spare})

    def clear():
        subprocess.run([*aws, "rm", "--recursive", f"s3://{BUCKET}/"], env=env, cwd=base, check=True, capture_output=True)

    back, stored = os.path.join(base, "back"), ""
    up = {
        "oneact": up_ours,
        "aws s3 cp": lambda: run([*aws, "cp", source, f"s3://{BUCKET}/up"], base, env),
        "rclone copyto": lambda: run([*rclone, source, f"{remote}/up"], base, env),
    }
    down = {
        "oneact": lambda: ours("take", {}, f"s3://{BUCKET}/{stored}"),
        "aws s3 cp": lambda: run([*aws, "cp", f"s3://{BUCKET}/{stored}", back], base, env),
        "rclone copyto": lambda: run([*rclone, f"{remote}/{stored}", back], base, env),
    }
    for title, variants in (("up", up), ("down", down)):
        found = {name: ([], []) for name in variants}
        names = list(variants)
        if title == "down":
            # An object with the SHA-256 that oneact compares.
            up_ours()
            stored = f"assets/s{number}/derived_1.bin"
        for turn in range(rounds + 1):
            for name in names[turn % 3:] + names[:turn % 3]:
                if title == "up":
                    clear()
                if os.path.exists(back):
                    os.remove(back)
                os.sync()
                took, memory = variants[name]()
                if turn:
                    found[name][0].append(took)
                    found[name][1].append(memory)
        others = min(statistics.median(found[name][0]) for name in names[1:])
        least = min(statistics.median(found[name][1]) for name in names[1:])
        print(f"\n{title}: {BYTES >> 20} MiB  ({rounds} rounds; time at most {MOST_TIMES} × the faster of the others, memory at most theirs)")
        for name in names:
            took, memory = (statistics.median(values) for values in found[name])
            print(f"  {name:<16} {took:7.2f} s {took / others:6.2f} × {memory:8.1f} MiB {memory / least:6.2f} ×")
    clear()
    make(spare, 2 * BYTES)
    _, memory = ours("give", {"from": spare})
    _, again = ours("take", {}, f"s3://{BUCKET}/assets/s{number}/derived_1.bin")
    print(f"\n{2 * BYTES >> 20} MiB: up {memory:.1f} MiB, down {again:.1f} MiB of memory (at most {MOST_MIB})")


if __name__ == "__main__":
    HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "target"))
    section(os.environ.get("ONEACT", os.path.join(TARGET, "release", "oneact")),
            os.environ.get("ONEACT_TEST_SERVERS", os.path.join(HERE, "target", "test-servers")),
            int(os.environ.get("ROUNDS", "5")))
