// remind.ts TEXT…: creates a task for each text, at the same time, and prints what became of each.
// It needs a catalog with the action task_create, such as `npx oneact init` writes into an empty directory.

import { FaultError, Oneact } from "oneact";

const texts = process.argv.slice(2);
const oneact = new Oneact();

await using session = await oneact.session();
const outcomes = await Promise.all(texts.map((text) => session.call("task_create", { task_text: text })));

for (const [at, outcome] of outcomes.entries()) {
  if (outcome.ok) console.log(`${texts[at]}: ${outcome.result?.["todo_id"]}`);
  else console.log(`${texts[at]}: ${outcome.recoverable ? "try again later" : outcome.message}`);
}

// The first failure, as an exception.
try {
  outcomes.forEach((outcome) => outcome.orThrow());
} catch (error) {
  if (!(error instanceof FaultError)) throw error;
  process.exitCode = error.recoverable ? 75 : 1;
}
