// Writes src/models.ts from schemas/*.schema.json. With --check, it only says whether the file is up to date.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { compile } from "json-schema-to-typescript";

const repository = new URL("../../../", import.meta.url);
const target = new URL("../src/models.ts", import.meta.url);

const banner = "// Generated from schemas/*.schema.json by scripts/generate-clients. Do not edit.";

/**
 * A schema in which an object without stated properties may have any. The words `{}` and `[]` of an enumeration are left out:
 * as types, they would allow everything.
 */
function opened(schema) {
  if (Array.isArray(schema)) return schema.map(opened);
  if (typeof schema !== "object" || schema === null) return schema;
  const open = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, opened(value)]));
  if (open.enum) open.enum = open.enum.filter((value) => value === null || typeof value !== "object");
  const isBare = [schema.type].flat().includes("object") && !schema.properties && schema.additionalProperties === undefined;
  return isBare ? { ...open, additionalProperties: true } : open;
}

/** The types of all documents. */
async function types() {
  const script = fileURLToPath(new URL("scripts/plain-schemas", repository));
  const plain = opened(JSON.parse(execFileSync(script, { encoding: "utf8" })));
  const options = { bannerComment: "", unreachableDefinitions: true, additionalProperties: false, style: { printWidth: 120 } };
  const text = await compile(plain, "Document", options);
  return (
    text
      // The definitions have no common root.
      .replace(/export interface Document \{[^}]*\}\n/, "")
      .replace(/\/\*\*\n \* This interface was referenced by .*\n \* via .*\n \*\/\n/g, "")
      .replace(/ \*\n \* This interface was referenced by .*\n \* via .*\n/g, "")
  );
}

/** The family of each fault, from the rules at the end of the envelope's schema. */
function codes() {
  const schema = JSON.parse(readFileSync(new URL("schemas/envelope.schema.json", repository), "utf8"));
  const rules = schema.allOf.filter((rule) => rule.if.$ref.startsWith("#/$defs/fault_"));
  const rows = rules.flatMap((rule) => {
    const code = rule.then.properties.error.properties.error_code.const;
    const faults = schema.$defs[rule.if.$ref.slice("#/$defs/".length)].properties.output.properties.content.properties.oneact
      .properties.fault;
    return (faults.enum ?? [faults.const]).map((fault) => `  ${fault}: "${code}",\n`);
  });
  return `/** The family of each fault. */\nexport const errorCodes: Readonly<Record<Fault, ErrorCode>> = {\n${rows.join("")}};\n`;
}

const text = `${banner}\n\n${(await types()).trim()}\n\n${codes()}`;
if (!process.argv.includes("--check")) {
  writeFileSync(target, text);
} else if (readFileSync(target, "utf8") !== text) {
  console.error("clients/typescript/src/models.ts does not fit the schemas; run scripts/generate-clients typescript");
  process.exitCode = 1;
}
