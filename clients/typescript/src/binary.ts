// Finds the program `oneact`.

import { accessSync, closeSync, constants, openSync, readSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, isAbsolute, join, resolve } from "node:path";

import { BinaryMissing } from "./errors.js";

/** The variables of an environment, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The path of the binary: the one that the caller names, else `$ONEACT_BINARY`, else the one of the platform package that
 * npm installs beside this one, else the first one on `$PATH`.
 */
export function findBinary(named: string | undefined, env: Environment): string {
  if (named) return usable(named, "the option `binary`");
  if (env["ONEACT_BINARY"]) return usable(env["ONEACT_BINARY"], "$ONEACT_BINARY");
  return inPlatformPackage() ?? onPath(env["PATH"] ?? "") ?? missing();
}

function usable(path: string, source: string): string {
  try {
    accessSync(path, constants.X_OK);
  } catch (cause) {
    throw new BinaryMissing(`${source} names ${path}, which is no file that can be executed; correct it`, { cause });
  }
  // Without a slash, another one would be started: the one on the path.
  return resolve(path);
}

/** The name of the package that contains the binary for this machine. */
const platformPackage = `@oneact/${process.platform}-${process.arch}`;

function inPlatformPackage(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(`${platformPackage}/bin/oneact`);
  } catch {
    return undefined;
  }
}

/**
 * Only a program in the form ELF counts, because package managers put scripts with the name `oneact` on the path that start
 * this package again.
 */
function onPath(path: string): string | undefined {
  const candidates = path.split(delimiter).filter(isAbsolute);
  return candidates.map((directory) => join(directory, "oneact")).find(isElf);
}

function isElf(path: string): boolean {
  let file: number;
  try {
    accessSync(path, constants.X_OK);
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    const start = Buffer.alloc(4);
    readSync(file, start, 0, start.length, 0);
    return start.equals(Buffer.from("\x7fELF", "latin1"));
  } catch {
    return false; // a directory
  } finally {
    closeSync(file);
  }
}

function missing(): never {
  if (process.platform !== "linux") throw new BinaryMissing(`oneact runs on Linux, and this is ${process.platform}`);
  throw new BinaryMissing(
    `there is no binary of oneact: not in the package ${platformPackage}, and not on $PATH; install the package (npm leaves ` +
      "it out with --omit=optional), or name a binary with the option `binary` or $ONEACT_BINARY",
  );
}
