// The outcome of a call of a session, from the result of its tool.

import { RpcError } from "./peer.js";
import { ProtocolError } from "./errors.js";
import { errorCodes } from "./models.js";
import { Failure, isEnvelope, isObject, type Outcome, outcomeOf, Success, textOf, whole } from "./outcome.js";
import type { Effect, Envelope, Fault, JsonObject, OutputRef, State, Waiting } from "./types.js";

/**
 * The outcome that the result of `tools/call` states. oneact alone writes `_meta` and the results of failures. The structured
 * result of a success can be a tool's, so it is data and nothing else.
 */
export async function outcomeOfResult(result: JsonObject): Promise<Outcome<Envelope | null>> {
  const meta = isObject(result["_meta"]) ? result["_meta"] : {};
  const envelope = meta["oneact/envelope"];
  if (isEnvelope(envelope)) return outcomeOf(envelope);
  const said = texts(result["content"]);
  const structured = isObject(result["structuredContent"]) ? result["structuredContent"] : {};
  const isError = result["isError"] === true;
  const facts = {
    envelope: null,
    operationId: (meta["oneact/operation_id"] as string | undefined) ?? null,
    sessionId: null,
    effect: ((meta["oneact/effect"] ?? (isError ? structured["effect"] : null)) as Effect | undefined) ?? null,
    message: said,
  };
  const state = meta["oneact/state"] as State | undefined;
  if (isError) {
    const { fault, message, recoverable, waiting } = structured;
    if (!isFault(fault)) throw new ProtocolError(`the session answered with an error that has no known fault: ${said}`);
    return new Failure({
      ...facts,
      state: state ?? "failed",
      message: String(message),
      fault,
      code: errorCodes[fault],
      recoverable: recoverable === true,
      waiting: (waiting as Waiting | undefined) ?? null,
    });
  }
  const produced = (meta["oneact/output_refs"] ?? []) as OutputRef[];
  const { output_refs_produced: _, ...other } = structured;
  // Without assets, the result has this name only if the tool has given it.
  const data = produced.length > 0 ? other : structured;
  const { execution_report: report, ...rest } = data;
  const isReport = isObject(report) && Object.keys(rest).length === 0;
  const found = isReport ? report : Object.keys(data).length > 0 ? await whole(data) : null;
  return new Success({ ...facts, state: state ?? "done", result: found, text: textOf(found), produced });
}

/** The outcome of a call that was refused as a message. The error is thrown on, if it has no fault. */
export function outcomeOfError(error: unknown): Failure<null> {
  if (!(error instanceof RpcError)) throw error;
  const fault = isObject(error.data) ? error.data["fault"] : undefined;
  if (!isFault(fault)) throw new ProtocolError(error.message, error.code);
  return new Failure({
    envelope: null,
    state: "rejected",
    effect: "none",
    operationId: null,
    sessionId: null,
    message: error.message,
    fault,
    code: errorCodes[fault],
    recoverable: false,
    waiting: null,
  });
}

function isFault(value: unknown): value is Fault {
  return typeof value === "string" && Object.hasOwn(errorCodes, value);
}

/** The text of all blocks of text. */
function texts(content: unknown): string {
  const blocks = Array.isArray(content) ? content.filter(isObject) : [];
  return blocks
    .filter((block) => block["type"] === "text")
    .map((block) => String(block["text"]))
    .join("\n");
}
