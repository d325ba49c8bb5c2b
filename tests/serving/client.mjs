// Uses `oneact serve catalog` with the TypeScript SDK: client.mjs MODULES ROOT
// Prints what it has found as one JSON document.

const [modules, root] = process.argv.slice(2);
const sdk = `${modules}/@modelcontextprotocol/sdk/dist/esm/client`;
const { Client } = await import(`${sdk}/index.js`);
const { StdioClientTransport } = await import(`${sdk}/stdio.js`);

const client = new Client({ name: "test", version: "1" });
const args = ["serve", "catalog", "--root", root, "--session", "typescript"];
await client.connect(new StdioClientTransport({ command: process.env.ONEACT, args }));
const tools = await client.listTools();
const happened = await client.callTool({ name: "happen", arguments: { what: "typescript" } });
const again = await client.callTool({ name: "happen", arguments: { what: "typescript" } });
const wrong = await client.callTool({ name: "happen", arguments: { what: 1 } });
await client.close();
console.log(JSON.stringify({
  tools: tools.tools.map((tool) => tool.name).sort(),
  happened: happened.structuredContent,
  again: again._meta["oneact/state"],
  wrong: [wrong.isError, wrong.structuredContent.fault],
}));
