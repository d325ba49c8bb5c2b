// What the tools of the JavaScript servers do. Each tool returns the `result` of its call, or throws.
import { setTimeout as sleep } from "node:timers/promises";

const texts = (...texts) => ({ content: texts.map((text) => ({ type: "text", text })) });

export const tools = {
  raises: () => {
    throw new Error();
  },
  refuses: () => {
    throw new Error("the account is closed");
  },
  thrown: () => {
    throw { reason: "the account is closed" };
  },
  times_out: () => sleep(60_000, null, { signal: AbortSignal.timeout(10) }),
  nan: () => texts(JSON.stringify({ success: true, mean: NaN })),
  no_rows: () => texts(),
  one_row: () => texts("a"),
  three_rows: () => texts("a", "b", "c"),
  records: () => texts('{"id": 1}', '{"id": 2}'),
  empty_text: () => texts(""),
  beside: () => texts("saved", '{"success": true}'),
  size: ({ text }) => texts(String(text.length)),
  prints: () => {
    console.log("working …");
    return texts('{"success": true}');
  },
};

export const start = () => sleep(1_000 * Number(process.env.START_TAKES ?? 0));
