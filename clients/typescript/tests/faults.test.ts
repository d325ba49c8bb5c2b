// Which exception belongs to which fault.

import assert from "node:assert/strict";
import { inspect } from "node:util";
import test from "node:test";

import {
  ApprovalRequired,
  DependencyError,
  InputFile,
  InvalidInput,
  OneactError,
  OutOfScope,
  ProcessingError,
  Task,
  FaultError,
  TimedOut,
  ValidationError,
} from "oneact";

import { newClient } from "./support.js";

const missing = { inputs: [new InputFile("nowhere.txt")] };

for (const [family, capability, parameters, options, fault] of [
  [ValidationError, "no_such_capability", {}, {}, "unknown_capability"],
  [ValidationError, "add", { a: "one", b: 2 }, {}, "params_invalid"],
  [DependencyError, "read", {}, missing, "input_inaccessible"],
  [ApprovalRequired, "publish", { words: "Hello" }, {}, "approval_required"],
  [OutOfScope, "people_only", {}, {}, "context_denied"],
  [TimedOut, "hurry", {}, {}, "timeout"],
  [ProcessingError, "fail", { reason: "no" }, {}, "tool_error"],
  [ProcessingError, "nowhere", {}, {}, "server_not_found"],
] as const) {
  test(`${fault} of ${capability} is thrown as ${family.name}`, async (t) => {
    const client = await newClient(t);
    const error = await client.call(capability, parameters, options).then(
      () => assert.fail("it succeeded"),
      (error: unknown) => error,
    );
    assert(error instanceof family);
    assert(error instanceof FaultError && error instanceof OneactError);
    assert.equal(error.name, family.name);
    assert.equal(error.fault, fault);
    assert.equal(error.message, error.outcome.message);
    assert.equal(error.effect, error.outcome.effect);
    assert.equal(error.recoverable, error.outcome.recoverable);
    assert.equal(error.outcome.envelope?.output.content.oneact.fault, fault);
  });
}

test("a document that is no task is InvalidInput", async (t) => {
  const client = await newClient(t);
  // @ts-expect-error: the type system refuses it, too.
  const outcome = await client.perform(Task.of({ greeting: "hello" }));
  assert.throws(() => outcome.orThrow(), InvalidInput);
});

test("a task that waits for an approval says which", async (t) => {
  const client = await newClient(t);
  await assert.rejects(client.call("publish", { words: "Hello" }), (error) => {
    assert(error instanceof ApprovalRequired && error instanceof DependencyError);
    assert.match(error.approvalId ?? "", /^apr_/);
    const { outcome } = error;
    assert(outcome.isWaiting && outcome.waiting?.for === "approval");
    assert.equal(outcome.waiting.approve, `oneact approve ${error.approvalId}`);
    return true;
  });
});

test("a printed exception has the fault and not the envelope", async (t) => {
  const client = await newClient(t);
  await assert.rejects(client.call("fail", { reason: "the printer is on fire" }), (error) => {
    const printed = inspect(error);
    assert.match(printed, /^ProcessingError: .*the printer is on fire/);
    assert.match(printed, /fault: 'tool_error'/);
    assert.doesNotMatch(printed, /compliance_notes|request_hash/);
    return true;
  });
});
