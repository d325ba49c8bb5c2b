// Which binary is started, and what happens if it does not do what oneact does.

import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import test from "node:test";

import { BinaryMissing, NoEnvelope, Oneact, OneactError, SessionEnded } from "oneact";

import { binary, emptyDirectory, fakeBinary, newClient, newRoot } from "./support.js";

const add = { task_id: "t1", capability_ids: ["add"], parameters: { a: 1, b: 2 } };

/** An environment without the binary. */
const empty = { ONEACT_BINARY: undefined, PATH: "/nowhere" };

test("the option comes before $ONEACT_BINARY", async (t) => {
  const root = await newRoot(t);
  const silent = await fakeBinary(t, "exit 7");
  assert((await new Oneact({ root, binary, env: { ONEACT_BINARY: silent } }).perform(add)).ok);
  await assert.rejects(new Oneact({ root, binary: silent }).perform(add), NoEnvelope);
  await assert.rejects(new Oneact({ root, env: { ONEACT_BINARY: silent } }).perform(add), NoEnvelope);
});

test("a binary on the path is found, and scripts and directories of its name are not taken for it", async (t) => {
  const directory = await emptyDirectory(t);
  const [script, folder, real] = ["script", "folder", "real"].map((name) => join(directory, name)) as [string, string, string];
  await mkdir(script);
  await writeFile(join(script, "oneact"), "#!/bin/sh\nexit 7\n", { mode: 0o755 });
  await mkdir(join(folder, "oneact"), { recursive: true });
  await mkdir(real);
  await symlink(binary, join(real, "oneact"));
  const PATH = ["", script, folder, "/nowhere", real, dirname(process.execPath), "/usr/bin:/bin"].join(":");
  const client = await newClient(t, { env: { ONEACT_BINARY: undefined, PATH } });
  assert((await client.perform(add)).ok);
});

test("a relative path is the program in the working directory, and not the one of that name on the path", async (t) => {
  const directory = await emptyDirectory(t);
  await symlink(binary, join(directory, "oneact"));
  const [PATH, before] = [dirname(await fakeBinary(t, "exit 7")), process.cwd()];
  t.after(() => process.chdir(before));
  const client = await newClient(t, { binary: "oneact", env: { PATH: `${PATH}:${process.env["PATH"]}` } });
  process.chdir(directory);
  assert((await client.perform(add)).ok);
  const near = await newClient(t, { env: { ONEACT_BINARY: undefined, PATH: ":." } });
  await assert.rejects(near.perform(add), BinaryMissing);
});

test("without a binary, the message says what to do, and nothing is started before a call", async (t) => {
  const client = await newClient(t, { env: empty });
  const message = /no binary of oneact: not in the package @oneact\/linux-\w+, and not on \$PATH; install/;
  for (const start of [() => client.perform(add), () => client.call("add"), () => client.session()]) {
    await assert.rejects(start, (error) => error instanceof BinaryMissing && message.test(error.message));
  }
});

test("a named binary that cannot be executed is told with its source", async (t) => {
  const client = await newClient(t, { env: { ONEACT_BINARY: "/nowhere/oneact" } });
  await assert.rejects(client.perform(add), { name: "BinaryMissing", message: /^\$ONEACT_BINARY names \/nowhere\/oneact, / });
  await assert.rejects(new Oneact({ binary: "/nowhere/oneact" }).perform(add), { message: /^the option `binary` names/ });
});

test("a binary without its interpreter cannot be started, and one of another machine has no envelope", async (t) => {
  const path = join(await emptyDirectory(t), "oneact");
  const client = new Oneact({ binary: path });
  await writeFile(path, "#!/no/such/interpreter\n", { mode: 0o755 });
  const expected = { name: "BinaryMissing", message: /oneact cannot be started: / };
  await assert.rejects(client.perform(add), expected);
  await assert.rejects(client.session(), expected);
  await writeFile(path, "\x7fELF broken");
  await assert.rejects(client.perform(add), NoEnvelope);
  await assert.rejects(client.session(), SessionEnded);
});

for (const [what, script, expected] of [
  ["that prints nothing", "cat >/dev/null; echo 'no catalog today' >&2; exit 3", /printed nothing \(exit code 3\); .*no catalog today/],
  ["that prints garbage", "echo hello", /printed what is no JSON: "hello\\n" \(exit code 0\)/],
  ["that prints other JSON", "echo '{\"output\": {\"content\": []}}'", /printed JSON that is no envelope/],
  ["that prints half an envelope", `printf '{"message_id": "msg'; exit 143`, /no JSON.*exit code 143/],
  ["that prints invalid UTF-8", "printf '\"\\377\"'", /no JSON/],
  ["that is killed", "kill -9 $$", /printed nothing \(signal SIGKILL\)/],
  ["that does not read its input", "exec <&-; exit 1", /printed nothing \(exit code 1\)/],
  ["that leaves a process with its streams", "sleep 60 & echo hello", /no JSON: "hello/],
] as const) {
  test(`a binary ${what} is NoEnvelope`, async (t) => {
    const client = new Oneact({ binary: await fakeBinary(t, script) });
    const large = { ...add, parameters: { a: "x".repeat(1_000_000) } };
    await assert.rejects(client.perform(large), (error) => {
      assert(error instanceof NoEnvelope && error instanceof OneactError);
      assert.match(error.message, expected);
      return true;
    });
  });
}

test("a binary that prints without end is killed", async (t) => {
  const client = new Oneact({ binary: await fakeBinary(t, "exec yes") });
  await assert.rejects(client.perform(add), { name: "NoEnvelope", signal: "SIGKILL", message: /more than 67108864 bytes/ });
});

test("of a long stderr, the end is kept", async (t) => {
  const script = "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 1";
  const client = new Oneact({ binary: await fakeBinary(t, script) });
  await assert.rejects(client.perform(add), (error) => {
    assert(error instanceof NoEnvelope);
    assert.equal(error.stderr.length, 8192);
    assert(error.stderr.endsWith("xthe end\n"));
    return true;
  });
});

for (const [what, script, expected] of [
  ["ends at once", "echo 'no catalog today' >&2; exit 2", /process of the session has ended \(exit code 2\); .*no catalog today/],
  ["prints garbage", "echo hello; exec sleep 60", /what is no message of MCP: "hello"/],
  ["prints JSON that is no message", "echo '[]'; exec sleep 60", /no message of MCP: "\[\]"/],
  ["prints one line without end", "exec tr '\\0' x </dev/zero", /a line of more than 67108864 bytes/],
] as const) {
  test(`a session whose process ${what} is SessionEnded`, async (t) => {
    const client = new Oneact({ binary: await fakeBinary(t, script) });
    await assert.rejects(client.session(), (error) => {
      assert(error instanceof SessionEnded && error instanceof OneactError);
      assert.match(error.message, expected);
      return true;
    });
  });
}
