// The tools of a session as tools of the Vercel AI SDK (`npm install ai`).

import { dynamicTool, jsonSchema, type ToolSet } from "ai";
import type { Session } from "oneact";

/** One tool for each action of the catalog. A failure of a call is told to the model as text. */
export async function agentTools(session: Session): Promise<ToolSet> {
  const tools = await session.tools();
  return Object.fromEntries(
    tools.map(({ name, description = "", inputSchema }) => [
      name,
      dynamicTool({
        description,
        inputSchema: jsonSchema(inputSchema),
        execute: async (input, { abortSignal }) => {
          const outcome = await session.call(name, { ...(input as object) }, { signal: abortSignal });
          return outcome.text;
        },
      }),
    ]),
  );
}
