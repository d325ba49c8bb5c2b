// The tools of tests/suite/remote.rs over HTTP by the first TypeScript SDK, with sessions: http_ts1.mjs MODULES PORT
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tools } from "./http_tools.mjs";

const load = createRequire(`${process.argv[2]}/`);
const { McpServer } = load("@modelcontextprotocol/sdk/server/mcp.js");
const { StreamableHTTPServerTransport } = load("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { z } = load("zod");

const sessions = new Map();

async function session() {
  const server = new McpServer({ name: "sdk", version: "1" });
  const inputSchema = { text: z.string().optional(), file: z.string().optional() };
  for (const [name, tool] of Object.entries(tools)) {
    server.registerTool(name, { inputSchema }, async (given, { _meta, signal, sendNotification }) => {
      const tell = (progress, total) =>
        sendNotification({
          method: "notifications/progress",
          params: { progressToken: _meta?.progressToken, progress, total },
        });
      return tool(given, { tell, signal });
    });
  }
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id),
  });
  await server.connect(transport);
  return transport;
}

createServer(async (request, response) => {
  const id = request.headers["mcp-session-id"];
  let body = "";
  for await (const chunk of request) body += chunk;
  const message = body && JSON.parse(body);
  let transport = sessions.get(id);
  if (!transport && message.method === "initialize") transport = await session();
  if (!transport) {
    const error = { code: -32000, message: "Bad Request: No valid session ID provided" };
    response.writeHead(400, { "Content-Type": "application/json" });
    return response.end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
  }
  await transport.handleRequest(request, response, message || undefined);
}).listen(Number(process.argv[3]), "127.0.0.1");
