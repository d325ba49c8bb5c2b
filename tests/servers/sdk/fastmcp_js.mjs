// The tools of this directory by FastMCP for JavaScript: fastmcp_js.mjs MODULES
import { createRequire } from "node:module";
import { start, tools } from "./tools.mjs";

const load = createRequire(`${process.argv[2]}/`);
const { FastMCP } = load("fastmcp");
const { z } = load("zod");

await start();
const server = new FastMCP({ name: "sdk", version: "1.0.0" });
for (const [name, execute] of Object.entries(tools)) {
  const parameters = z.object({ text: z.string().optional() });
  server.addTool({ name, description: name, parameters, execute: async (given) => execute(given) });
}
server.addTool({ name: "number", description: "number", outputSchema: z.object({ result: z.number() }), execute: async () => ({ content: [], structuredContent: { result: 42 } }) });
server.addTool({ name: "wrong", description: "wrong", execute: async () => 42 });
await server.start({ transportType: "stdio" });
