// What the tests share.

import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";

import { Oneact, type OneactOptions, type Outcome, type SessionOutcome } from "oneact";

/** The directory of the package. The tests run in `build/tests`. */
export const packageDirectory = fileURLToPath(new URL("../../", import.meta.url));

/** The binary that is tested. */
export const binary = process.env["ONEACT_BINARY"] ?? "";
if (binary === "") throw new Error("name the binary to test: ONEACT_BINARY=target/release/oneact");

/** An empty directory that is removed after the test. */
export async function emptyDirectory(test: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "oneact-ts-"));
  test.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** A copy of the root with the catalog and the server of the tests. */
export async function newRoot(test: TestContext): Promise<string> {
  const root = await emptyDirectory(test);
  await cp(join(packageDirectory, "tests/fixture"), root, { recursive: true });
  return root;
}

/** A client with a root of its own. */
export async function newClient(test: TestContext, options: OneactOptions = {}): Promise<Oneact> {
  return new Oneact({ root: await newRoot(test), ...options });
}

/** A program in place of oneact: a shell script with this text. */
export async function fakeBinary(test: TestContext, script: string): Promise<string> {
  const path = join(await emptyDirectory(test), "oneact");
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

/** A program in place of oneact that answers each call of a session with this result. */
export async function fakeSession(test: TestContext, result: object): Promise<string> {
  const program = join(await emptyDirectory(test), "session.mjs");
  await writeFile(
    program,
    `import { createInterface } from "node:readline";
    for await (const line of createInterface({ input: process.stdin })) {
      const { id, method } = JSON.parse(line);
      const result = method === "tools/call" ? ${JSON.stringify(result)} : {};
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    }`,
  );
  return fakeBinary(test, `exec ${process.execPath} ${program}`);
}

/** What an outcome says, with ROOT in place of the root. */
export async function described(outcome: Outcome | SessionOutcome, root: string): Promise<unknown> {
  const { ok, state, fault, recoverable, effect, isWaiting, text, result } = outcome;
  const files = outcome.files.map(async (file) => {
    const { refId, assetType } = file;
    return { refId, assetType, content: new TextDecoder().decode(await file.readBytes()) };
  });
  const facts = { ok, state, fault, recoverable, effect, isWaiting, text, result, files: await Promise.all(files) };
  return JSON.parse(JSON.stringify(facts).replaceAll(root, "ROOT"));
}

/** Resolves when the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
