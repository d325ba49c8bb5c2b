// What stands in several files of the repository says the same in each.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { packageDirectory } from "./support.js";

const read = (path: string) => readFileSync(join(packageDirectory, path), "utf8");

test("the models are those of the schemas", () => {
  execFileSync(process.execPath, [join(packageDirectory, "scripts/generate.mjs"), "--check"]);
});

test("the versions of the package and of its platform packages are that of Cargo.toml", () => {
  const version = /^version = "(.*)"$/m.exec(read("../../Cargo.toml"))?.[1];
  const own = JSON.parse(read("package.json"));
  const locked = JSON.parse(read("package-lock.json")).packages;
  const platforms = ["@oneact/linux-arm64", "@oneact/linux-x64"];
  assert.deepEqual(Object.keys(own.optionalDependencies), platforms);
  const versions = [
    own.version,
    ...Object.values(own.optionalDependencies),
    locked[""].version,
    ...Object.values(locked[""].optionalDependencies),
    ...platforms.map((name) => locked[`node_modules/${name}`].version),
  ];
  assert.deepEqual(new Set(versions), new Set([version]));
});

test("the package needs nothing and runs nothing when it is installed", () => {
  const { dependencies, scripts } = JSON.parse(read("package.json"));
  assert.equal(dependencies, undefined);
  assert.deepEqual(Object.keys(scripts).sort(), ["build", "test"]);
});
