#!/usr/bin/env bash
# npm `@modelcontextprotocol/sdk` 1.32.2 and `@modelcontextprotocol/server` 2.4.0 on Node 20 and later: a tool connects
# to a backend that is down. If the name of the backend has one address, the tool fails with words:
#
#   {"content": [{"type": "text", "text": "connect ECONNREFUSED 127.0.0.1:9"}], "isError": true}
#
# If the name has two addresses, as `localhost` has on most machines, Node tries both and throws an AggregateError whose
# own message is empty. The SDKs take only that message, so nothing remains of the reason:
#
#   {"content": [{"type": "text", "text": ""}], "isError": true}
#
# Whether a failure has a reason thus depends on the hosts file of the machine, not on the tool.
#
# Installs both packages in a temporary directory; needs node and npm. Exits with 1 if they behave otherwise.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
npm install --no-save --no-audit --no-fund --loglevel=error \
  @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server@2.4.0 >/dev/null

cat >server.mjs <<'JAVASCRIPT'
import http from "node:http";

const ADDRESSES = {
  one: [{ address: "127.0.0.1", family: 4 }],
  two: [{ address: "127.0.0.1", family: 4 }, { address: "::1", family: 6 }],
};
// A name that has these addresses. Nothing listens on port 9.
const connect = (addresses) => () =>
  new Promise((done, failed) => {
    const lookup = (_name, _options, found) => found(null, addresses);
    http.get({ host: "backend", port: 9, lookup }, done).on("error", failed);
  });

const tools = (server) => {
  for (const [name, addresses] of Object.entries(ADDRESSES)) {
    server.registerTool(name, { description: name }, connect(addresses));
  }
  return server;
};
const about = { name: "finding", version: "1" };

if (process.argv[2] === "sdk") {
  const { McpServer } = await import("@modelcontextprotocol/sdk/server/mcp.js");
  const { StdioServerTransport } = await import("@modelcontextprotocol/sdk/server/stdio.js");
  await tools(new McpServer(about)).connect(new StdioServerTransport());
} else {
  const { McpServer } = await import("@modelcontextprotocol/server");
  const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
  serveStdio(() => tools(new McpServer(about)));
}
JAVASCRIPT

cat >client.mjs <<'JAVASCRIPT'
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const answers = async (kind) => {
  const server = spawn("node", ["server.mjs", kind], { stdio: ["pipe", "pipe", "ignore"] });
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const tell = (message) => server.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  const ask = async (id, method, params) => {
    tell({ id, method, params });
    return JSON.parse((await lines.next()).value);
  };
  const clientInfo = { name: "finding", version: "1" };
  await ask(0, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  tell({ method: "notifications/initialized" });
  const found = {};
  for (const [id, name] of [[1, "one"], [2, "two"]]) {
    found[name] = (await ask(id, "tools/call", { name, arguments: {} })).result;
  }
  server.stdin.end();
  return found;
};

let same = true;
for (const kind of ["sdk", "server"]) {
  const { one, two } = await answers(kind);
  console.log(`${kind}: one address ${JSON.stringify(one)}, two addresses ${JSON.stringify(two)}`);
  same &&= one.isError && one.content[0].text === "connect ECONNREFUSED 127.0.0.1:9";
  same &&= two.isError && two.content.length === 1 && two.content[0].text === "";
}
process.exit(same ? 0 : 1);
JAVASCRIPT
node client.mjs
