// The tools of this directory by the second TypeScript SDK, in both eras: ts2.mjs MODULES
import { createRequire } from "node:module";
import { start, tools } from "./tools.mjs";

const load = createRequire(`${process.argv[2]}/`);
const { McpServer } = load("@modelcontextprotocol/server");
const { serveStdio } = load("@modelcontextprotocol/server/stdio");
const { z } = load("zod");

await start();
serveStdio(() => {
  const server = new McpServer({ name: "sdk", version: "1" });
  for (const [name, tool] of Object.entries(tools)) {
    const inputSchema = z.object({ text: z.string().optional() });
    server.registerTool(name, { inputSchema }, async (given) => tool(given));
  }
  const number = { outputSchema: z.number() };
  server.registerTool("number", number, async () => ({ content: [], structuredContent: 42 }));
  server.registerTool("wrong", number, async () => ({ content: [], structuredContent: "many" }));
  return server;
});
