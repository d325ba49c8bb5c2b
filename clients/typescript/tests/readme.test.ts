// Every code block of README.md, in the package as npm installs it: a block of text is what the block before prints.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";

import { emptyDirectory, packageDirectory } from "./support.js";

const execute = promisify(execFile);
const tsc = join(packageDirectory, "node_modules/typescript/bin/tsc");

/** Without the types of Node, and with the declarations of oneact checked. */
const compilerOptions = {
  target: "ES2022",
  lib: ["ES2022", "DOM"],
  module: "NodeNext",
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noUnusedLocals: true,
};

const text = readFileSync(join(packageDirectory, "README.md"), "utf8");
const blocks = [...text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, language, code]) => ({ language, code: code ?? "" }));

test("every code block of the README does what it says", async (t) => {
  const directory = await emptyDirectory(t);
  const run = async (command: string, args: string[]) => (await execute(command, args, { cwd: directory })).stdout;
  await execute("npm", ["pack", "--silent", "--pack-destination", directory], { cwd: packageDirectory });
  const packed = readdirSync(directory).find((name) => name.endsWith(".tgz"));
  writeFileSync(join(directory, "package.json"), '{"type": "module"}');
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  copyFileSync(join(packageDirectory, "../../fixtures/media/fox.mp4"), join(directory, "talk.mp4"));
  let isCompiled = false;
  let printed = "";
  for (const [at, { language, code }] of blocks.entries()) {
    if (language === "sh") {
      const script = code.replace("npm install oneact", `npm install --offline --no-audit --no-fund ./${packed}`);
      printed = await run("sh", ["-ec", script]);
    } else if (language === "ts") {
      if (!isCompiled) {
        blocks.forEach(({ language, code }, at) => language === "ts" && writeFileSync(join(directory, `block${at}.ts`), code));
        await run(process.execPath, [tsc, "--project", "."]).catch((error) => assert.fail(error.stdout));
        isCompiled = true;
      }
      printed = await run(process.execPath, [`block${at}.js`]);
    } else {
      assert.equal(language, "text");
      const parts = code.trim().split("…").map((part) => part.replaceAll(/[^\w\s]/g, "\\$&"));
      assert.match(printed, new RegExp(`^${parts.join("[^]*")}\\s*$`), `block ${at}`);
    }
  }
  assert(blocks.length > 10);
});
