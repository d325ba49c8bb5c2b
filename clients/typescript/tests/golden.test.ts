// Tasks with their outcomes. Each file in tests/golden is a test. ONEACT_BLESS=1 rewrites the outcomes.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";

import { Oneact, type TaskDocument } from "oneact";

import { described, newRoot, packageDirectory } from "./support.js";

const directory = join(packageDirectory, "tests/golden");

/** With these flags, two runs of a task print the same bytes. */
const reproducible = ["--clock", "2026-02-24T10:00:00+08:00[Asia/Singapore]", "--seed", "1"];

interface Golden {
  task: TaskDocument;
  outcome: unknown;
}

for (const name of readdirSync(directory)) {
  test(`the outcome of ${name}`, async (t) => {
    const path = join(directory, name);
    const golden = JSON.parse(await readFile(path, "utf8")) as Golden;
    const root = await newRoot(t);
    const outcome = await described(await new Oneact({ root, args: reproducible }).perform(golden.task), root);
    if (process.env["ONEACT_BLESS"]) await writeFile(path, `${JSON.stringify({ ...golden, outcome }, null, 2)}\n`);
    else assert.deepEqual(outcome, golden.outcome);
  });
}
