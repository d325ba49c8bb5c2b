// The tools of tests/suite/remote.rs over HTTP by FastMCP for JavaScript: http_fastmcp_js.mjs MODULES PORT
import { createRequire } from "node:module";
import { tools } from "./http_tools.mjs";

const load = createRequire(`${process.argv[2]}/`);
const { FastMCP } = load("fastmcp");
const { z } = load("zod");

const server = new FastMCP({ name: "sdk", version: "1.0.0" });
const parameters = z.object({ text: z.string().optional(), file: z.string().optional() });
for (const [name, tool] of Object.entries(tools)) {
  server.addTool({
    name,
    description: name,
    parameters,
    execute: async (given, { reportProgress, signal }) =>
      tool(given, { tell: (progress, total) => reportProgress({ progress, total }), signal }),
  });
}
await server.start({ transportType: "httpStream", httpStream: { port: Number(process.argv[3]), host: "127.0.0.1" } });
