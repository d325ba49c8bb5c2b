// Cancellation and timeouts of a run.

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { getEventListeners } from "node:events";
import test from "node:test";

import { Aborted, Oneact } from "oneact";

import { emptyDirectory, fakeBinary, newClient, newRoot, until } from "./support.js";

const long = { task_id: "t1", capability_ids: ["wait"], parameters: { milliseconds: 60_000 } };

/** Resolves when the run has its scratch directory, so that it can be cancelled under way. */
const underWay = (root: string) => until(() => existsSync(join(root, ".oneact")));

test("an aborted run is cancelled, and its envelope says what it did", async (t) => {
  const root = await newRoot(t);
  const controller = new AbortController();
  const run = new Oneact({ root }).perform(long, { signal: controller.signal });
  await underWay(root);
  controller.abort(new Error("the user closed the window"));
  await assert.rejects(run, (error) => {
    assert(error instanceof Aborted);
    assert.deepEqual([error.name, error.code], ["AbortError", "ABORT_ERR"]);
    assert.equal((error.cause as Error).message, "the user closed the window");
    assert.deepEqual([error.outcome?.state, error.outcome?.fault], ["cancelled", "cancelled"]);
    assert.equal(error.outcome?.envelope.error.recoverable, error.outcome?.recoverable);
    return true;
  });
});

test("a signal that is aborted before starts nothing", async (t) => {
  const mark = join(await emptyDirectory(t), "started");
  const client = new Oneact({ binary: await fakeBinary(t, `touch ${mark}`) });
  await assert.rejects(client.perform(long, { signal: AbortSignal.abort() }), { name: "AbortError", outcome: null });
  assert.equal(existsSync(mark), false);
});

test("a signal of AbortSignal.timeout is the cause", async (t) => {
  const client = await newClient(t);
  await assert.rejects(client.call("wait", { milliseconds: 60_000 }, { signal: AbortSignal.timeout(1000) }), (error) => {
    assert(error instanceof Aborted);
    assert.equal((error.cause as Error).name, "TimeoutError");
    return true;
  });
});

test("a timeout is an outcome", async (t) => {
  const client = await newClient(t);
  const outcome = await client.perform(long, { timeout: 1000 });
  assert.deepEqual([outcome.state, outcome.fault], ["cancelled", "cancelled"]);
});

test("a run that ends in time leaves no timer and no listener", async (t) => {
  const { signal } = new AbortController();
  const client = await newClient(t);
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;
  const before = timers();
  await client.call("add", { a: 1, b: 2 }, { signal, timeout: 2 ** 40 });
  await client.call("add", { a: 1, b: 2 }, { signal, timeout: 60_000 });
  assert.equal(getEventListeners(signal, "abort").length, 0);
  assert.equal(timers(), before);
});

test("a process that ignores the signal is killed after the grace", async (t) => {
  const directory = await emptyDirectory(t);
  const script = `trap '' TERM; touch ${directory}/$$; while :; do sleep 0.1; done`;
  const client = new Oneact({ binary: await fakeBinary(t, script) });
  const started = (count: number) => until(() => readdirSync(directory).length === count);
  await assert.rejects(client.perform(long, { timeout: 2000, grace: 100 }), { name: "NoEnvelope", signal: "SIGKILL" });
  await started(1);
  const controller = new AbortController();
  const run = client.perform(long, { signal: controller.signal, grace: 100 });
  await started(2);
  controller.abort();
  await assert.rejects(run, { name: "AbortError", outcome: null });
});

test("a duration that is none is refused", async (t) => {
  const client = await newClient(t);
  await assert.rejects(client.perform(long, { timeout: -1 }), RangeError);
  await assert.rejects(client.perform(long, { timeout: Number.NaN }), RangeError);
});
