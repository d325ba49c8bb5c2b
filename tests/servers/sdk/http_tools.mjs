// What the tools of tests/suite/remote.rs do in the JavaScript servers: `tell` reports progress, `signal` is aborted.
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const text = (text) => ({ content: [{ type: "text", text }] });

export const tools = {
  echo: ({ text: said }) => text(said),
  fails: () => {
    throw new Error("the account is closed");
  },
  slow: async ({ file }, { tell, signal }) => {
    await tell(1, 2);
    writeFileSync(file, "started");
    try {
      await sleep(60_000, null, { signal });
    } catch {
      writeFileSync(file, "cancelled");
      throw new Error("cancelled");
    }
    return text("late");
  },
  counts: async (_, { tell }) => {
    for (const done of [1, 2, 3]) {
      await tell(done, 3);
      await sleep(50);
    }
    return text("counted");
  },
  dies: () => process.exit(3),
};
