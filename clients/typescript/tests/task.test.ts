// Tasks, their inputs and the files that they make.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { InputData, InputFile, Oneact, type PlanDocument, Task } from "oneact";

import { binary, emptyDirectory, newClient, newRoot } from "./support.js";

test("a call has a name, its parameters, and only what it was given", () => {
  const { task_id, ...rest } = Task.call("add", { a: 1, b: 2 }).document.dispatch;
  assert.match(String(task_id), /^call_[0-9a-f]{8}$/);
  assert.deepEqual(rest, { capability_ids: ["add"], parameters: { a: 1, b: 2 } });
});

test("every option of a call is in its document", () => {
  const inputs = [
    new InputFile("/tmp/a b.txt"),
    new InputFile("https://example.com/a.mp4", { refId: "src_1" }),
    { ref_id: "derived_7", storage_uri: "s3://bucket/key", status: "created" as const },
  ];
  const options = { inputs, outputs: ["derived_1"], taskId: "t1", idempotencyKey: "k", salt: "s", attempt: 2, under: "op_1" };
  assert.deepEqual(Task.call("add", {}, { ...options, sessionId: "s1" }).document, {
    metadata: { session_id: "s1" },
    dispatch: {
      task_id: "t1",
      capability_ids: ["add"],
      parameters: {},
      input_refs_resolved: [
        { ref_id: "store_1", storage_uri: "file:///tmp/a%20b.txt", status: "stored" },
        { ref_id: "src_1", storage_uri: "https://example.com/a.mp4", status: "reference" },
        { ref_id: "derived_7", storage_uri: "s3://bucket/key", status: "created" },
      ],
      output_refs_expected: ["derived_1"],
      idempotency_key: "k",
      salt: "s",
      attempt: 2,
      under: "op_1",
    },
  });
});

const plan: PlanDocument = {
  plan_id: "plan-1",
  protocol_validation: true,
  action_plan: [
    { action_id: "a1", action_type: "FILE_CREATE", target: "hello.txt", operation: { type: "create", content: "Hello\n" } },
  ],
};

test("a plan is previewed and performed", async (t) => {
  const root = await newRoot(t);
  const client = new Oneact({ root });
  const task = Task.plan(plan, { sessionId: "s1", taskId: "t1" });
  assert.deepEqual(task.document, { ...plan, metadata: { session_id: "s1" }, task_id: "t1" });
  const preview = await client.perform(task, { dryRun: true });
  assert.equal(preview.state, "planned");
  assert.match(preview.envelope.output.content.oneact.preview?.diff ?? "", /\+Hello/);
  assert.equal(existsSync(join(root, "hello.txt")), false);
  const { hash } = preview.envelope.output.content.oneact.preview ?? {};
  const other = await client.perform(task, { expect: `sha256:${"0".repeat(64)}` });
  assert.equal(other.fault, "preview_changed");
  const outcome = await client.perform(Task.plan(plan, { sessionId: "s1", taskId: "t2" }), { expect: hash });
  assert(outcome.ok, outcome.message);
  assert.equal(outcome.result?.["status"], "SUCCESS");
  assert.equal(outcome.sessionId, "s1");
  assert.equal(outcome.envelope.output.content.execution_report?.status, "SUCCESS");
  assert.equal(await readFile(join(root, "hello.txt"), "utf8"), "Hello\n");
});

test("a file is an input, wherever it is", async (t) => {
  const path = join(await emptyDirectory(t), "with spaces & ü%20.txt");
  await writeFile(path, "Hello");
  const outcome = await (await newClient(t)).call("read", {}, { inputs: [new InputFile(path)] });
  assert.deepEqual(outcome.result, { bytes: 5, text: "Hello" });
  assert.equal(outcome.text, '{"bytes":5,"text":"Hello"}');
});

test("bytes are an input, and are in a file only during the call", async (t) => {
  const input = new InputData("Hello", { suffix: ".txt" });
  const path = fileURLToPath(input.uri);
  assert.match(path, /\.txt$/);
  assert.equal(existsSync(path), false);
  const outcome = await (await newClient(t)).call("read", {}, { inputs: [input] });
  assert.deepEqual(outcome.result, { bytes: 5, text: "Hello" });
  assert.equal(existsSync(path), false);
  assert.equal(existsSync(dirname(path)), false);
});

test("two calls at the same time share a file of equal bytes", async (t) => {
  const client = await newClient(t);
  const calls = [0, 1, 2].map(() => client.call("read", {}, { inputs: [new InputData(new Uint8Array([72, 105]))] }));
  for (const outcome of await Promise.all(calls)) assert.deepEqual(outcome.result, { bytes: 2, text: "Hi" });
});

test("bytes can be put where a tool may read", async (t) => {
  const root = await newRoot(t);
  const input = new InputData("Hello", { directory: root, refId: "store_9" });
  assert(fileURLToPath(input.uri).startsWith(`${root}/`));
  const outcome = await new Oneact({ root }).call("read", {}, { inputs: [input] });
  assert.equal(outcome.result?.["bytes"], 5);
});

test("bytes that cannot be written are told, and a suffix is no path", async (t) => {
  const client = await newClient(t);
  await assert.rejects(client.call("read", {}, { inputs: [new InputData("a", { directory: "/nowhere" })] }), /ENOENT/);
  assert.throws(() => new InputData("a", { suffix: "/../a" }), TypeError);
});

test("bytes are those that were given, whatever is written into their buffer later", async (t) => {
  const buffer = Buffer.from("Hello");
  const inputs = [new InputData(buffer)];
  buffer.fill("x");
  assert.equal((await (await newClient(t)).call("read", {}, { inputs })).result?.["text"], "Hello");
});

test("the same bytes are the same request, in the session of the first call", async (t) => {
  const client = await newClient(t);
  const inputs = () => [new InputData("Hello")];
  const first = await client.call("read", {}, { inputs: inputs(), sessionId: "s1" });
  const second = await client.call("read", {}, { inputs: inputs(), sessionId: "s1" });
  assert.deepEqual([first.state, second.state], ["done", "reused"]);
});

test("a made file has its name, its place and its content", async (t) => {
  const client = await newClient(t);
  const { files, result } = await client.call("write", { content: "Hello\n" }, { outputs: ["derived_1"] });
  assert.equal(result, null);
  const [file] = files;
  assert(file !== undefined && file.path !== null && files.length === 1);
  assert.deepEqual([file.refId, file.assetType, file.uri.slice(0, 8)], ["derived_1", "note", "file:///"]);
  assert.equal(await readFile(file.path, "utf8"), "Hello\n");
  assert.deepEqual(await file.readBytes(), await readFile(file.path));
});

test("a task that is sent again in its session is one delivery", async (t) => {
  const client = await newClient(t);
  const task = Task.call("write", { content: "Hello" }, { sessionId: "s1" });
  const states = [(await client.perform(task)).state, (await client.perform(task)).state];
  assert.deepEqual(states, ["done", "replayed"]);
});

test("a value that looks like a flag is a value", async (t) => {
  const client = await newClient(t);
  const outcome = await client.perform(Task.plan(plan), { expect: "--dry-run" });
  assert.equal(outcome.fault, "invalid_usage");
  assert.match(outcome.message, /'--dry-run' for '--expect <HASH>'/);
});

test("the environment and the flags of the client reach oneact", async (t) => {
  const root = await newRoot(t);
  const client = new Oneact({ root, env: { ONEACT_SESSION: "from-env" }, args: ["--dry-run"] });
  const outcome = await client.call("add", { a: 1, b: 2 });
  assert.deepEqual([outcome.sessionId, outcome.state], ["from-env", "planned"]);
});

test("a stored call is performed after its approval", async (t) => {
  const root = await newRoot(t);
  const client = new Oneact({ root });
  const waiting = await client.perform(Task.call("publish", { words: "Hello" }));
  const approvalId = waiting.approvalId ?? "";
  for (const part of ["", "apr_", approvalId.slice(0, 8), approvalId.slice(4)]) {
    await assert.rejects(client.performApproved(part), { name: "TypeError", message: /the id of an approval is apr_/ });
  }
  assert.equal((await client.performApproved(approvalId)).fault, "approval_required");
  // script(1) gives the person a terminal.
  const person = spawn("script", ["-qec", `${binary} approve --root ${root} ${approvalId}`, "/dev/null"]);
  person.stdout.on("data", (chunk: Buffer) => chunk.includes("[y/N]") && person.stdin.write("y\n"));
  assert.equal(await new Promise((resolve) => person.once("close", resolve)), 0);
  const outcome = await client.performApproved(approvalId);
  assert.deepEqual(outcome.orThrow().result, { text: "Hello" });
});
