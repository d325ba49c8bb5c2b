/// <reference lib="esnext.disposable" preserve="true" />
// A session: one process of `oneact serve catalog`, which performs many calls.

import { createRequire } from "node:module";

import { outcomeOfError, outcomeOfResult } from "./answer.js";
import { after, checkDuration, type Command, onAbort } from "./child.js";
import { Aborted, ProtocolError } from "./errors.js";
import type { Outcome } from "./outcome.js";
import { Peer, RpcError } from "./peer.js";
import { holding, type Input, references } from "./task.js";
import type { Envelope, JsonObject } from "./types.js";

/** The answer of a person: approve the call, deny it for good, or decide nothing now. */
export type ApprovalAnswer = "approve" | "deny" | "later";

/** A call that waits for an approval, if the catalog lets the host ask its user (`approval.by = ["elicitation"]`). */
export interface ApprovalRequest {
  /** What a person must see before the decision. */
  readonly message: string;
  /** Aborted when the call is cancelled, or the session ends. */
  readonly signal: AbortSignal;
}

export interface SessionOptions {
  /** The session of all calls. Default: a new one. */
  readonly sessionId?: string | undefined;
  /** Further flags of this session, such as `["--timeout", "90s"]`. */
  readonly args?: readonly string[] | undefined;
  /** Asks a person. Without it, a call that needs an approval ends with the fault `approval_required`. */
  readonly onApproval?: ((request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>) | undefined;
  /** The name under which the decisions of `onApproval` are recorded. Default: the name and version of this package. */
  readonly client?: { readonly name: string; readonly version: string } | undefined;
  /** Milliseconds that the process has to answer after its start. It is killed then. Default: 30,000. */
  readonly startTimeout?: number | undefined;
  /** Closes the session. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds that the process has to end after the session was closed. Default: 10,000. */
  readonly grace?: number | undefined;
}

/** A tool of the session: an action of the catalog. */
export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
}

/** How far a call is. */
export interface Progress {
  readonly type: "progress";
  readonly progress: number;
  readonly total: number | null;
  readonly message: string | null;
}

/** The end of a call. */
export interface Result {
  readonly type: "result";
  readonly outcome: SessionOutcome;
}

/** The outcome of a call of a session. */
export type SessionOutcome = Outcome<Envelope | null>;

export interface SessionCallOptions {
  /** Cancels the call, which then rejects with `Aborted`. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The assets that the call may name: a parameter such as `input_ref` takes the name of one, such as `store_1`. */
  readonly inputs?: readonly Input[] | undefined;
  /** The name of this delivery: a second one with the same key gets the answer of the first. */
  readonly idempotencyKey?: string | undefined;
  /** Part of the request: another salt is another request. */
  readonly salt?: string | undefined;
  /** The operation that opened the grant for this call. */
  readonly under?: string | undefined;
}

/** The version of MCP that this client speaks. */
const protocolVersion = "2025-11-25";

const methodNotFound = -32601;

/** The most progress of a stream that is kept until it is read. */
const mostUnread = 100;

export class Session {
  readonly #peer: Peer;
  readonly #options: SessionOptions;

  /** @internal */
  private constructor(command: Command, options: SessionOptions) {
    this.#options = options;
    this.#peer = new Peer(command, {
      request: (method, params, signal) => this.#answer(method, params, signal),
    });
    const forget = onAbort(options.signal, () => void this.close());
    void this.#peer.ended.then(forget);
  }

  /** @internal Starts a session. `Oneact.session` knows the command. */
  static async start(command: Command, options: SessionOptions): Promise<Session> {
    const { signal, onApproval, startTimeout = 30_000 } = options;
    checkDuration("grace", options.grace);
    checkDuration("startTimeout", startTimeout);
    if (signal?.aborted) throw new Aborted(signal);
    const session = new Session(command, options);
    const capabilities = onApproval === undefined ? {} : { elicitation: {} };
    const params = { protocolVersion, capabilities, clientInfo: options.client ?? ownName() };
    const late = () => session.#peer.fail(`the process of the session did not answer within ${startTimeout} ms`);
    const inTime = after(startTimeout, late);
    try {
      await session.#request({ method: "initialize", params, signal });
    } catch (error) {
      await session.close();
      throw error;
    } finally {
      inTime();
    }
    session.#peer.notify("notifications/initialized");
    return session;
  }

  /** The tools that can be called now. */
  async tools(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<Tool[]> {
    const tools: Tool[] = [];
    let cursor: unknown;
    do {
      const params = cursor === undefined ? {} : { cursor };
      const page = await this.#request({ method: "tools/list", params, signal: options.signal });
      if (!Array.isArray(page["tools"])) throw new ProtocolError("the list of tools has no tools");
      tools.push(...(page["tools"] as Tool[]));
      cursor = page["nextCursor"];
    } while (cursor !== undefined);
    return tools;
  }

  /** Calls a tool. A failure of the call is an outcome, not an exception; `orThrow()` of the outcome throws it. */
  async call(name: string, parameters: JsonObject = {}, options: SessionCallOptions = {}): Promise<SessionOutcome> {
    const { inputs = [], onProgress, signal } = options;
    return holding(inputs, async () => {
      const params = { name, arguments: parameters, _meta: meta(options) };
      const reported = onProgress && ((params: JsonObject) => onProgress(progress(params)));
      const request = { method: "tools/call", params, signal, onProgress: reported };
      return this.#peer.request(request).then(outcomeOfResult, outcomeOfError);
    });
  }

  /**
   * Calls a tool, and reports its progress. The last event is the result. Leaving the loop cancels the call. A slow reader gets
   * the newest progress.
   */
  stream(
    name: string,
    parameters: JsonObject = {},
    options: Omit<SessionCallOptions, "onProgress"> = {},
  ): AsyncGenerator<Progress | Result, void, void> {
    const left = new AbortController();
    const events = this.#events(name, parameters, options, left);
    // A generator itself returns only after its `next()`, which may wait for the tool.
    const finish = events.return.bind(events);
    events.return = (value) => {
      left.abort(new Error("the caller left the loop over the events of the call"));
      return finish(value);
    };
    return events;
  }

  async *#events(
    name: string,
    parameters: JsonObject,
    options: SessionCallOptions,
    left: AbortController,
  ): AsyncGenerator<Progress | Result, void, void> {
    const signal = options.signal ? AbortSignal.any([options.signal, left.signal]) : left.signal;
    const reported: Progress[] = [];
    let wake = () => {};
    let isDone = false;
    const onProgress = (progress: Progress) => {
      if (reported.push(progress) > mostUnread) reported.shift();
      wake();
    };
    const call = this.call(name, parameters, { ...options, signal, onProgress });
    const done = () => {
      isDone = true;
      wake();
    };
    call.then(done, done);
    try {
      for (;;) {
        for (let next = reported.shift(); next !== undefined; next = reported.shift()) yield next;
        if (isDone) break;
        await new Promise<void>((resolve) => (wake = resolve));
      }
      if (!left.signal.aborted) yield { type: "result", outcome: await call };
    } finally {
      left.abort();
    }
  }

  /** Ends the session. Calls that are not finished are cancelled. */
  async close(): Promise<void> {
    this.#peer.close(this.#options.grace ?? 10_000);
    await this.#peer.ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #request(request: { method: string; params: JsonObject; signal?: AbortSignal | undefined }): Promise<JsonObject> {
    try {
      return await this.#peer.request(request);
    } catch (error) {
      throw error instanceof RpcError ? new ProtocolError(`${request.method}: ${error.message}`, error.code) : error;
    }
  }

  /** Answers a request of the process. */
  async #answer(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (method === "ping") return {};
    const { onApproval } = this.#options;
    if (method !== "elicitation/create" || onApproval === undefined) {
      throw new RpcError(methodNotFound, `this client does not answer ${method}`);
    }
    const answer = await onApproval({ message: String(params["message"]), signal });
    if (answer === "approve") return { action: "accept", content: { approve: true } };
    return { action: answer === "deny" ? "decline" : "cancel" };
  }
}

/** The keys of oneact in the `_meta` of a call. */
function meta({ inputs = [], idempotencyKey, salt, under }: SessionCallOptions): JsonObject {
  const refs = references(inputs).map((ref) => [ref.ref_id, ref.storage_uri]);
  return {
    ...(refs.length > 0 && { "oneact/refs": Object.fromEntries(refs) }),
    ...(idempotencyKey !== undefined && { "oneact/idempotency_key": idempotencyKey }),
    ...(salt !== undefined && { "oneact/salt": salt }),
    ...(under !== undefined && { "oneact/under": under }),
  };
}

function progress(params: JsonObject): Progress {
  const { progress, total, message } = params;
  return {
    type: "progress",
    progress: Number(progress),
    total: typeof total === "number" ? total : null,
    message: typeof message === "string" ? message : null,
  };
}

function ownName(): { name: string; version: string } {
  const { name, version } = createRequire(import.meta.url)("../package.json") as { name: string; version: string };
  return { name: `${name} for TypeScript`, version };
}
