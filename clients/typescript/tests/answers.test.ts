// What a tool can say, and what only oneact says.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";

import { FaultError, Oneact } from "oneact";

import { emptyDirectory, fakeBinary, fakeSession, newClient, newRoot } from "./support.js";

/** Makes a result too large for an envelope in the answer of a session. */
const pad = "x".repeat(100_000);

const ref = { ref_id: "derived_1", storage_uri: "file:///etc/hostname", asset_type: "x" };

test("a tool decides neither which files its caller reads nor what the effect was", async (t) => {
  await using session = await (await newClient(t)).session();
  for (const output_refs_produced of [[ref], ["x"], "x", null]) {
    const structuredContent = { output_refs_produced, effect: "none", execution_report: { status: "SUCCESS" }, pad };
    const outcome = await session.call("answer", { structuredContent });
    assert(outcome.ok && outcome.envelope === null);
    assert.deepEqual(outcome.files, []);
    assert.notEqual(outcome.effect, "none");
    assert.deepEqual(outcome.result, structuredContent);
  }
});

test("oneact says the effect and the files beside the result of the tool", async (t) => {
  const own = { ...ref, storage_uri: "file:///a.txt" };
  const _meta = { "oneact/state": "done", "oneact/effect": "unknown", "oneact/output_refs": [own] };
  const structuredContent = { sum: 3, effect: "none", output_refs_produced: [own] };
  const binary = await fakeSession(t, { content: [], structuredContent, _meta });
  await using session = await new Oneact({ binary }).session();
  const { effect, files, result, text } = await session.call("add");
  assert.deepEqual([effect, files.map((file) => file.path)], ["unknown", ["/a.txt"]]);
  assert.deepEqual(result, { sum: 3, effect: "none" });
  assert.equal(text, JSON.stringify(result));
});

test("without assets, what a tool calls its produced refs is data", async (t) => {
  const structuredContent = { output_refs_produced: [ref] };
  const binary = await fakeSession(t, { content: [], structuredContent, _meta: { "oneact/output_refs": [] } });
  await using session = await new Oneact({ binary }).session();
  const { effect, files, result } = await session.call("add");
  assert.deepEqual([effect, files, result], [null, [], structuredContent]);
});

test("a failure says its effect itself", async (t) => {
  const structuredContent = { fault: "tool_error", message: "no", effect: "unknown", recoverable: true };
  const binary = await fakeSession(t, { content: [], structuredContent, isError: true });
  await using session = await new Oneact({ binary }).session();
  const { effect, fault, recoverable } = await session.call("add");
  assert.deepEqual([effect, fault, recoverable], ["unknown", "tool_error", true]);
});

test("a reference that a tool invents reads no file", { timeout: 30_000 }, async (t) => {
  const module = new URL("../../dist/outcome.js", import.meta.url).href;
  const { whole } = (await import(module)) as { whole(data: object): Promise<object> };
  const directory = await emptyDirectory(t);
  const hash = (content: string) => createHash("sha256").update(content).digest("hex");
  const place = (content: string) => join(directory, `sha256-${hash(content)}.json`);
  const read = async (path: string, content: string): Promise<object | null> => {
    const data = { $blob: { storage_uri: pathToFileURL(path).href, sha256: hash(content) } };
    const found = await whole(data);
    return found === data ? null : found;
  };
  await writeFile(place("[1]"), "[1]");
  assert.deepEqual(await read(place("[1]"), "[1]"), [1]);
  await writeFile(join(directory, "notes.json"), "[1]");
  assert.equal(await read(join(directory, "notes.json"), "[1]"), null);
  await writeFile(place("[1]"), "[2]");
  assert.equal(await read(place("[1]"), "[1]"), null);
  await truncate(place("[1]"), 2 ** 40);
  assert.equal(await read(place("[1]"), "[1]"), null);
  assert.equal(await read(join(directory, "nothing", `sha256-${hash("[1]")}.json`), "[1]"), null);
  await writeFile(place("no JSON"), "no JSON");
  assert.equal(await read(place("no JSON"), "no JSON"), null);
  execFileSync("mkfifo", [place("a pipe")]);
  assert.equal(await read(place("a pipe"), "a pipe"), null);
  const data = { $blob: { storage_uri: `file:///a%2Fb/sha256-${hash("[1]")}.json`, sha256: hash("[1]") } };
  assert.equal(await whole(data), data);
});

test("an envelope whose parts contradict each other is none, and a new family of faults is a FaultError", async (t) => {
  const root = await newRoot(t);
  const { envelope } = await new Oneact({ root }).perform({ task_id: "t1", capability_ids: ["fail"] });
  const { error, output } = envelope;
  const oneact = { ...output.content.oneact, fault: "printer_on_fire" };
  for (const [changed, end] of [
    [{ error: { ...error, has_error: false } }, "NoEnvelope"],
    [{ error: { ...error, error_code: null } }, "NoEnvelope"],
    [{ output: { content: { ...output.content, oneact: { ...oneact, fault: null } } } }, "NoEnvelope"],
    [{ output: { content: { ...output.content, task_result: {} } } }, "NoEnvelope"],
    [{ error: { ...error, error_code: "PRINTER" }, output: { content: { ...output.content, oneact } } }, "printer_on_fire"],
  ] as const) {
    const path = join(root, "envelope.json");
    await writeFile(path, JSON.stringify({ ...envelope, ...changed }));
    const call = new Oneact({ binary: await fakeBinary(t, `cat >/dev/null; cat ${path}`) }).call("fail");
    const thrown: unknown = await call.catch((error: unknown) => error);
    assert(thrown instanceof Error);
    assert.equal(thrown instanceof FaultError ? thrown.fault : thrown.name, end);
  }
});
