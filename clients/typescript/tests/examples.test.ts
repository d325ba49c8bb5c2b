// The programs of examples/. agent.test.ts uses agent_tools.ts.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";

import { binary, emptyDirectory, packageDirectory } from "./support.js";

const execute = promisify(execFile);

test("remind.ts creates tasks, and says what failed", async (t) => {
  const root = await emptyDirectory(t);
  await execute(binary, ["init"], { cwd: root });
  const remind = (...texts: string[]) =>
    execute(process.execPath, [join(packageDirectory, "build/examples/remind.js"), ...texts], { cwd: root });
  const { stdout } = await remind("Call Ada", "Call Bob");
  assert.match(stdout, /^Call Ada: todo_\d\nCall Bob: todo_\d\n$/);
  await assert.rejects(remind("Call Cem", ""), (error: Error & { code: number; stdout: string }) => {
    assert.equal(error.code, 1);
    assert.match(error.stdout, /^Call Cem: todo_\d\n: the parameters of task_create do not fit/);
    return true;
  });
});
