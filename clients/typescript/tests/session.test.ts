// Sessions: many calls with one process of `oneact serve catalog`.

import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { readFileSync } from "node:fs";
import test from "node:test";

import {
  Aborted,
  ApprovalRequired,
  type ApprovalAnswer,
  InputData,
  Oneact,
  type Progress,
  ProtocolError,
  SessionEnded,
  ValidationError,
} from "oneact";

import { fakeBinary, newClient, newRoot } from "./support.js";

test("a session lists tools, calls them, and ends when its block ends", async (t) => {
  const client = await newClient(t);
  let kept;
  {
    await using session = await client.session();
    kept = session;
    const tools = await session.tools();
    const add = tools.find((tool) => tool.name === "add");
    assert.deepEqual(add?.inputSchema["required"], ["a", "b"]);
    assert.equal(add?.annotations?.["readOnlyHint"], true);
    const outcome = await session.call("add", { a: 1, b: 2 });
    assert.deepEqual([outcome.ok, outcome.state, outcome.effect, outcome.result], [true, "done", "done", { sum: 3 }]);
    assert.equal(outcome.envelope?.output.content.task_result.status, "complete");
    assert.equal(outcome.text, '{"sum":3}');
  }
  await assert.rejects(kept.call("add", { a: 1, b: 2 }), { name: "SessionEnded", message: /the session was closed/ });
  await kept.close();
});

test("fifty calls are in flight at the same time, and each gets its own answer", async (t) => {
  await using session = await (await newClient(t)).session();
  const numbers = Array.from({ length: 50 }, (_, at) => at);
  const outcomes = await Promise.all(numbers.map((n) => session.call("add", { a: n, b: 1000 })));
  assert.deepEqual(
    outcomes.map((outcome) => outcome.result?.["sum"]),
    numbers.map((n) => n + 1000),
  );
});

test("progress comes before the result, to a callback and to a loop", async (t) => {
  await using session = await (await newClient(t)).session();
  const reported: Progress[] = [];
  const parameters = { milliseconds: 1000, steps: 4 };
  await session.call("wait", parameters, { onProgress: (progress) => reported.push(progress) });
  assert(reported.length > 0);
  assert(reported.every((each) => each.type === "progress" && (each.total === null || each.total === 4)));
  const events = [];
  for await (const event of session.stream("wait", parameters, { salt: "again" })) events.push(event);
  const last = events.pop();
  assert(last?.type === "result" && last.outcome.ok);
  assert.deepEqual(last.outcome.result, { waited: 1000 });
  assert(events.length > 0 && events.every((event) => event.type === "progress"));
});

test("a callback for progress that fails ends its call with its error, and cancels it", async (t) => {
  await using session = await (await newClient(t)).session();
  const onProgress = () => {
    throw new RangeError("too far");
  };
  await assert.rejects(session.call("wait", { milliseconds: 60_000, steps: 200 }, { onProgress }), RangeError);
  for (const thrown of [null, Object.create(null)]) {
    const onProgress = () => {
      throw thrown;
    };
    const call = session.call("wait", { milliseconds: 60_000, steps: 200 }, { onProgress });
    assert.equal(await call.catch((error: unknown) => error), thrown);
  }
  assert((await session.call("add", { a: 1, b: 2 })).ok);
});

test("a loop that is left cancels the call, and the session goes on", async (t) => {
  await using session = await (await newClient(t)).session();
  for await (const event of session.stream("wait", { milliseconds: 60_000, steps: 200 })) {
    assert.equal(event.type, "progress");
    break;
  }
  assert((await session.call("add", { a: 1, b: 2 })).ok);
});

test("an iterator that is left cancels the call at once, also while it waits for the next event", async (t) => {
  await using session = await (await newClient(t)).session();
  const events = session.stream("wait", { milliseconds: 15_000, steps: 1 });
  const next = events.next();
  const begin = performance.now();
  await events.return();
  assert.deepEqual(await next, { done: true, value: undefined });
  assert(performance.now() - begin < 5000);
  assert((await session.call("add", { a: 1, b: 2 })).ok);
});

test("a slow reader of a stream gets the newest progress and the result", async (t) => {
  const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 2, progress: 7 } };
  const script = `while read -r line; do case $line in
    *initialize\\"*) echo '{"jsonrpc":"2.0","id":1,"result":{}}';;
    *tools/call*) for at in $(seq 1000); do echo '${JSON.stringify(progress)}' | sed "s/:7/:$at/"; done
      echo '{"jsonrpc":"2.0","id":2,"result":{"structuredContent":{"a":1}}}';;
    *tools/list*) echo '{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}';;
  esac; done`;
  await using session = await new Oneact({ binary: await fakeBinary(t, script) }).session();
  const events = session.stream("flood");
  await events.next();
  await session.tools(); // It is answered after the call.
  const kept = [];
  for await (const event of events) kept.push(event.type === "progress" ? event.progress : event.outcome.result);
  assert.deepEqual(kept, [...Array.from({ length: 100 }, (_, at) => at + 901), { a: 1 }]);
});

test("a call of a stream that fails is its last event", async (t) => {
  await using session = await (await newClient(t)).session();
  const events = [];
  for await (const event of session.stream("fail", { reason: "the printer is on fire" })) events.push(event);
  const last = events.at(-1);
  assert(last?.type === "result" && last.outcome.fault === "tool_error");
});

test("an aborted call tells oneact, and the other calls go on", async (t) => {
  await using session = await (await newClient(t)).session();
  const controller = new AbortController();
  const parameters = { milliseconds: 60_000, steps: 200 };
  const onProgress = () => controller.abort("enough");
  const other = session.call("wait", { milliseconds: 500 });
  await assert.rejects(session.call("wait", parameters, { signal: controller.signal, onProgress }), (error) => {
    assert(error instanceof Aborted);
    assert.equal(error.cause, "enough");
    return true;
  });
  assert.deepEqual((await other).result, { waited: 500 });
  await assert.rejects(session.call("add", { a: 1, b: 2 }, { signal: AbortSignal.abort() }), Aborted);
});

test("what is refused as a message of the protocol is an outcome, too", async (t) => {
  await using session = await (await newClient(t)).session();
  const outcome = await session.call("no_such_tool");
  assert.deepEqual([outcome.fault, outcome.state, outcome.effect], ["unknown_capability", "rejected", "none"]);
  assert.throws(() => outcome.orThrow(), ValidationError);
  const unfit = await session.call("add", { a: "one" });
  assert.throws(() => unfit.orThrow(), { name: "ValidationError", fault: "params_invalid" });
});

test("calls have names, inputs and files", async (t) => {
  await using session = await (await newClient(t)).session({ sessionId: "s1" });
  const key = { idempotencyKey: "note-1" };
  const first = await session.call("write", { content: "Hello" }, key);
  const second = await session.call("write", { content: "Hello" }, key);
  assert.deepEqual([first.state, second.state, second.sessionId], ["done", "replayed", "s1"]);
  const [file] = first.files;
  assert(file !== undefined);
  assert.equal(new TextDecoder().decode(await file.readBytes()), "Hello");
  const inputs = [new InputData("Hi")];
  const read = await session.call("read", { input_ref: "store_1" }, { inputs });
  assert.deepEqual(read.result, { bytes: 2, text: "Hi" });
});

test("a result that is too large for the envelope in the answer is read without it", async (t) => {
  await using session = await (await newClient(t)).session();
  const outcome = await session.call("long", { characters: 300_000 });
  assert.equal(outcome.envelope, null);
  assert.equal(String(outcome.result?.["long"]).length, 300_000);
  assert.match(String(outcome.operationId), /^op_/);
  const stored = await session.call("long", { characters: 3_000_000 });
  assert.equal(String(stored.result?.["long"]).length, 3_000_000);
});

for (const [answer, end] of [
  ["approve", "done"],
  ["deny", "approval_denied"],
  ["later", "approval_required"],
] as const) {
  test(`a person who answers "${answer}" makes the call end with ${end}`, async (t) => {
    const asked: string[] = [];
    const onApproval = async ({ message }: { message: string }): Promise<ApprovalAnswer> => {
      asked.push(message);
      return answer;
    };
    await using session = await (await newClient(t)).session({ onApproval });
    const outcome = await session.call("publish", { words: "Hello" });
    assert.equal(outcome.fault ?? outcome.state, end);
    assert.equal(asked.length, 1);
    assert.match(asked[0] ?? "", /publish[^]*Hello/);
  });
}

test("without a callback, a call that needs an approval waits", async (t) => {
  await using session = await (await newClient(t)).session();
  const outcome = await session.call("publish", { words: "Hello" });
  assert(outcome.isWaiting);
  assert.match(outcome.approvalId ?? "", /^apr_/);
  assert.throws(() => outcome.orThrow(), ApprovalRequired);
});

test("a callback that fails decides nothing, and its error is a warning", async (t) => {
  const client = await newClient(t);
  for (const [thrown, warning] of [
    [new RangeError("no window"), "RangeError: no window"],
    [null, "Warning: null"],
    [Object.create(null), "Warning: [Object: null prototype] {}"],
  ]) {
    const warned = once(process, "warning");
    await using session = await client.session({ onApproval: () => Promise.reject(thrown) });
    assert.equal((await session.call("publish", { words: "Hello" })).fault, "approval_required");
    assert.equal(String((await warned)[0]), warning);
  }
});

test("an answer that is none of the three words decides nothing", async (t) => {
  const client = await newClient(t);
  for (const answer of [true, "yes", "Approve", null, { approve: true }]) {
    await using session = await client.session({ onApproval: () => answer as ApprovalAnswer });
    assert.equal((await session.call("publish", { words: "Hello" })).fault, "approval_required");
  }
});

test("a call that oneact could not read is refused, and the session goes on", { timeout: 30_000 }, async (t) => {
  await using session = await (await newClient(t)).session();
  const nested = (levels: number): object => (levels === 0 ? {} : { a: nested(levels - 1) });
  const half = "\\\ud800";
  const inputs = [{ ref_id: "store_1", storage_uri: half, status: "stored" as const }];
  for (const [parameters, options, message] of [
    [{ words: half }, {}, /half of a surrogate pair/],
    [{ [half]: 1 }, {}, /half of a surrogate pair/],
    [{}, { salt: half }, /half of a surrogate pair/],
    [{}, { idempotencyKey: half }, /half of a surrogate pair/],
    [{}, { under: half }, /half of a surrogate pair/],
    [{}, { inputs }, /half of a surrogate pair/],
    [{ words: nested(124) }, {}, /more than 127 levels/],
    [{ words: [[nested(10_000)]] }, {}, /more than 127 levels|call stack/],
    [{ words: 1n }, {}, /BigInt/],
  ] as const) {
    await assert.rejects(session.call("say", parameters, options), message);
  }
  assert.equal((await session.call("say", { words: nested(123) })).fault, "invalid_json");
  const words = '\\ud800 \\"[{ \u{1f600} \u0000';
  assert.equal((await session.call("say", { words })).text, words);
});

test("many calls with one signal are no leak", async (t) => {
  const warnings: Error[] = [];
  const warned = (warning: Error) => void warnings.push(warning);
  process.on("warning", warned);
  await using session = await (await newClient(t)).session();
  const controller = new AbortController();
  const { signal } = controller;
  const calls = Array.from({ length: 20 }, () => session.call("wait", { milliseconds: 15_000 }, { signal }));
  const one = session.call("add", { a: 1, b: 2 }, { signal });
  assert.equal(getEventListeners(signal, "abort").length, 1);
  controller.abort();
  for (const call of [...calls, one]) await assert.rejects(call, Aborted);
  assert.equal(getEventListeners(signal, "abort").length, 0);
  process.off("warning", warned);
  assert.deepEqual(warnings, []);
});

test("a call that is cancelled while a person decides closes the question", async (t) => {
  const controller = new AbortController();
  let isClosed = false;
  const onApproval = ({ signal }: { signal: AbortSignal }) =>
    new Promise<ApprovalAnswer>((resolve) => {
      signal.addEventListener("abort", () => {
        isClosed = true;
        resolve("later");
      });
      controller.abort();
    });
  const session = await (await newClient(t)).session({ onApproval });
  await assert.rejects(session.call("publish", { words: "Hello" }, { signal: controller.signal }), Aborted);
  await session.close();
  assert(isClosed);
});

test("the end of the process ends the calls in flight", async (t) => {
  const script = `while read -r line; do case $line in
    *initialize\\"*) echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}';;
    *tools/call*) echo 'out of coffee' >&2; exit 9;;
  esac; done`;
  const session = await new Oneact({ binary: await fakeBinary(t, script) }).session();
  const calls = [session.call("add", { a: 1, b: 2 }), session.call("add"), session.tools()];
  for (const call of calls) {
    await assert.rejects(call, (error) => {
      assert(error instanceof SessionEnded);
      assert.equal(error.exitCode, 9);
      assert.match(error.message, /out of coffee/);
      return true;
    });
  }
  await assert.rejects(session.tools(), SessionEnded);
  await session.close();
});

test("an answer that says nothing is ProtocolError", async (t) => {
  const script = `while read -r line; do case $line in
    *initialize\\"*) echo '{"jsonrpc":"2.0","id":1,"result":{}}';;
    *tools/list*) echo '{"jsonrpc":"2.0","id":2,"result":{}}';;
    *tools/call*) echo '{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"out of coffee"}}';;
  esac; done`;
  await using session = await new Oneact({ binary: await fakeBinary(t, script) }).session();
  await assert.rejects(session.tools(), ProtocolError);
  await assert.rejects(session.call("add"), { name: "ProtocolError", code: -32603, message: "out of coffee" });
});

test("a process that does not answer at its start is killed", async (t) => {
  const client = new Oneact({ binary: await fakeBinary(t, "exec sleep 60") });
  const message = /the process of the session did not answer within 100 ms \(signal SIGKILL\)/;
  await assert.rejects(client.session({ startTimeout: 100 }), { name: "SessionEnded", message });
  await assert.rejects(client.session({ startTimeout: -1 }), RangeError);
});

test("a session that does not end after it was closed is killed", async (t) => {
  const script = `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; exec sleep 60`;
  const session = await new Oneact({ binary: await fakeBinary(t, script) }).session({ grace: 50 });
  await session.close();
});

test("the signal of a session closes it", async (t) => {
  const controller = new AbortController();
  const session = await (await newClient(t)).session({ signal: controller.signal });
  const call = session.call("wait", { milliseconds: 60_000 });
  controller.abort();
  // oneact may still say how the call ended.
  const end = await call.then(
    (outcome) => String(outcome.fault),
    (error: Error) => error.name,
  );
  assert(["cancelled", "outcome_unknown", "SessionEnded"].includes(end), end);
  await assert.rejects((await newClient(t)).session({ signal: AbortSignal.abort() }), Aborted);
});

test("no process is left behind", async (t) => {
  const root = await newRoot(t);
  const session = await new Oneact({ root }).session();
  await session.call("add", { a: 1, b: 2 });
  await session.close();
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim();
  assert.equal(children, "");
});
