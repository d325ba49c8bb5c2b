// The Vercel AI SDK calls tools through a session. The model is scripted.

import assert from "node:assert/strict";
import test from "node:test";

import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";

import { agentTools } from "../examples/agent_tools.js";
import { newClient } from "./support.js";

/** A model that calls these tools at once, and then says what it was told. */
function model(calls: readonly (readonly [name: string, input: object])[]) {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const told = prompt.flatMap((message) => (message.role === "tool" ? message.content : []));
      if (told.length === 0) {
        const content = calls.map(([toolName, input], at) => {
          return { type: "tool-call" as const, toolCallId: `call-${at}`, toolName, input: JSON.stringify(input) };
        });
        return { content, finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] };
      }
      const texts = told.map((part) => (part.type === "tool-result" && part.output.type === "text" ? part.output.value : "?"));
      const content = [{ type: "text" as const, text: texts.join(" | ") }];
      return { content, finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] };
    },
  });
}

test("an agent calls three tools, and is told the results and the failure", async (t) => {
  await using session = await (await newClient(t)).session();
  const tools = await agentTools(session);
  assert(["add", "say", "fail"].every((name) => name in tools));
  const scripted = model([
    ["add", { a: 1, b: 2 }],
    ["say", { words: "Hello" }],
    ["fail", { reason: "the printer is on fire" }],
  ]);
  const { text, steps } = await generateText({ model: scripted, tools, prompt: "Go", stopWhen: stepCountIs(3) });
  assert.equal(steps.length, 2);
  const [sum, said, failed] = text.split(" | ");
  assert.deepEqual([sum, said], ['{"sum":3}', "Hello"]);
  assert.match(failed ?? "", /^tool_error: .*the printer is on fire/);
  // The schema that the model got is that of the catalog.
  const offered = scripted.doGenerateCalls[0]?.tools?.find((tool) => tool.name === "add");
  assert(offered?.type === "function");
  assert.deepEqual(offered.inputSchema.required, ["a", "b"]);
});
