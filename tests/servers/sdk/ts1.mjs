// The tools of this directory by the first TypeScript SDK: ts1.mjs MODULES
import { createRequire } from "node:module";
import { start, tools } from "./tools.mjs";

const load = createRequire(`${process.argv[2]}/`);
const { McpServer } = load("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = load("@modelcontextprotocol/sdk/server/stdio.js");
const { z } = load("zod");

await start();
const server = new McpServer({ name: "sdk", version: "1" });
for (const [name, tool] of Object.entries(tools)) {
  server.registerTool(name, { inputSchema: { text: z.string().optional() } }, async (given) => tool(given));
}
const result = { outputSchema: { result: z.number() } };
server.registerTool("number", result, async () => ({ content: [], structuredContent: { result: 42 } }));
server.registerTool("wrong", result, async () => ({ content: [], structuredContent: { result: "many" } }));
await server.connect(new StdioServerTransport());
