// bin/oneact.js, which npx runs.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test, { type TestContext } from "node:test";

import { binary, emptyDirectory, fakeBinary, newRoot, packageDirectory, until } from "./support.js";

const launcher = join(packageDirectory, "bin/oneact.js");

/** Starts the launcher with this binary. */
function launch(program: string, args: string[] = []): ChildProcess {
  return spawn(process.execPath, [launcher, ...args], { env: { ...process.env, ONEACT_BINARY: program } });
}

async function ended(child: ChildProcess, input = "") {
  const texts = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk) => (texts.stdout += chunk));
  child.stderr?.on("data", (chunk) => (texts.stderr += chunk));
  child.stdin?.end(input);
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.once("close", (...end) => resolve(end)),
  );
  return { ...texts, code, signal };
}

/** A binary that calls `started` in its script when it can be sent a signal. */
async function announced(test: TestContext, script: string) {
  const mark = join(await emptyDirectory(test), "started");
  const program = await fakeBinary(test, `started() { touch ${mark}; }\n${script}`);
  return { program, started: () => until(() => existsSync(mark)) };
}

test("it passes on the streams, the arguments and the exit code", async (t) => {
  const root = await newRoot(t);
  const task = JSON.stringify({ task_id: "t1", capability_ids: ["add"], parameters: { a: 1, b: 2 } });
  const done = await ended(launch(binary, ["--root", root, "--reply", "result"]), task);
  assert.deepEqual([done.stdout, done.code, done.signal], ['{"sum":3}\n', 0, null]);
  const refused = await ended(launch(binary, ["--root", root]), "{}");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^oneact: invalid_shape: /);
});

test("it passes on a signal, and ends with the exit code that follows", async (t) => {
  const { program, started } = await announced(t, "trap 'echo stopped; exit 5' TERM; started; while :; do sleep 0.05; done");
  const child = launch(program);
  const end = ended(child);
  await started();
  child.kill("SIGTERM");
  const { stdout, code } = await end;
  assert.deepEqual([stdout, code], ["stopped\n", 5]);
});

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const) {
  test(`it ends by ${signal} if the binary does`, async (t) => {
    const { program, started } = await announced(t, "started; exec sleep 60");
    const child = launch(program);
    const end = ended(child);
    await started();
    child.kill(signal);
    assert.equal((await end).signal, signal);
  });
}

test("it ends by SIGKILL if the binary does", async (t) => {
  assert.equal((await ended(launch(await fakeBinary(t, "kill -9 $$")))).signal, "SIGKILL");
});

test("without a binary, it says so", async () => {
  const env = { ...process.env, ONEACT_BINARY: undefined, PATH: "/nowhere" };
  const end = await ended(spawn(process.execPath, [launcher], { env }));
  assert.deepEqual([end.code, end.stdout], [127, ""]);
  assert.match(end.stderr, /^oneact: there is no binary of oneact/);
});

test("a key at the terminal interrupts the binary once", async (t) => {
  const directory = await emptyDirectory(t);
  const caught = join(directory, "caught");
  // It ends by itself, some time after the key. In Node, because a shell counts two signals at once as one.
  const program = join(directory, "oneact");
  const script = `process.on("SIGINT", () => require("node:fs").appendFileSync("${caught}", "INT\\n"));
    setTimeout(() => {}, 1000);
    console.log("ready");`;
  await writeFile(program, `#!${process.execPath}\n${script}`, { mode: 0o755 });
  // script(1) gives the launcher a terminal. Without exec, some shells wait beside it, and the key ends them.
  const terminal = spawn("script", ["-qec", `exec ${process.execPath} ${launcher}`, "/dev/null"], {
    env: { ...process.env, ONEACT_BINARY: program, SHELL: "/bin/sh" },
  });
  terminal.stdout.once("data", () => terminal.stdin.write("\x03"));
  assert.deepEqual(await new Promise((resolve) => terminal.once("close", (...end) => resolve(end))), [0, null]);
  assert.equal(readFileSync(caught, "utf8"), "INT\n");
});
