// The tools of tests/suite/remote.rs over HTTP by the second TypeScript SDK, in both eras: http_ts2.mjs MODULES PORT
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { tools } from "./http_tools.mjs";

const load = createRequire(`${process.argv[2]}/`);
const { McpServer, createMcpHandler, inputRequired, inputResponse } = load("@modelcontextprotocol/server");
const { z } = load("zod");

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "sdk", version: "1" });
  const inputSchema = z.object({ text: z.string().optional(), file: z.string().optional() });
  for (const [name, tool] of Object.entries(tools)) {
    server.registerTool(name, { inputSchema }, async (given, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      const tell = (progress, total) =>
        mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total } });
      return tool(given, { tell, signal: mcpReq.signal });
    });
  }
  server.registerTool("asks", { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "answer");
    if (answer.kind === "missing") {
      const requestedSchema = z.object({ ok: z.boolean() });
      return inputRequired({ inputRequests: { answer: inputRequired.elicit({ message: "Go on?", requestedSchema }) } });
    }
    return { content: [{ type: "text", text: `answered ${answer.content.ok}` }] };
  });
  return server;
});

createServer(async (request, response) => {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const { method, headers } = request;
  const body = ["GET", "HEAD"].includes(method) ? undefined : Readable.toWeb(request);
  const url = `http://${headers.host}${request.url}`;
  const asked = new Request(url, { method, headers, body, duplex: "half", signal: gone.signal });
  const answer = await handler.fetch(asked);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (!answer.body) return response.end();
  Readable.fromWeb(answer.body).on("error", () => response.destroy()).pipe(response);
}).listen(Number(process.argv[3]), "127.0.0.1");
