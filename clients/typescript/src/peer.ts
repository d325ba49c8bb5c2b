// JSON-RPC over the standard streams of a process, one message a line, as MCP uses it.

import { inspect } from "node:util";

import { Child, type Command, mostBytes, onAbort } from "./child.js";
import { Aborted, ProtocolError, SessionEnded } from "./errors.js";
import { isObject } from "./outcome.js";
import type { JsonObject } from "./types.js";

/** An error of JSON-RPC, sent or received. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data: unknown = null,
  ) {
    super(message);
  }
}

/** What this side does with the messages of the other. */
export interface Handler {
  /** Answers a request. A thrown `RpcError` is the answer, too. */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>;
}

/** A request of this side. */
export interface Request {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal?: AbortSignal | undefined;
  /** With it, the request asks for progress. */
  readonly onProgress?: ((params: JsonObject) => void) | undefined;
}

interface Pending {
  resolve(result: JsonObject): void;
  reject(error: unknown): void;
  onProgress(params: JsonObject): void;
}

export class Peer {
  readonly #child: Child;
  readonly #handler: Handler;
  readonly #pending = new Map<number, Pending>();
  /** The requests of the other side that are not answered yet, by their ids. */
  readonly #answering = new Map<unknown, AbortController>();
  #unfinished: Buffer[] = [];
  #unfinishedSize = 0;
  #nextId = 1;
  #isClosed = false;
  /** What the process did against the protocol. It is killed then. */
  #problem: string | null = null;
  /** Why there are no answers any more. */
  #end: Error | null = null;
  /** Resolved when the process has ended. */
  readonly ended: Promise<void>;

  constructor(command: Command, handler: Handler) {
    this.#handler = handler;
    this.#child = new Child(command, (chunk) => this.#receive(chunk));
    this.ended = this.#child.ended.then(
      (ending) => {
        const usual = this.#isClosed ? "the session was closed" : "the process of the session has ended";
        this.#reject(new SessionEnded(this.#problem ?? usual, ending));
      },
      (error: Error) => this.#reject(error),
    );
  }

  /** Sends a request, and waits for its result. If the signal is aborted, the other side is told. */
  request({ method, params, signal, onProgress }: Request): Promise<JsonObject> {
    if (signal?.aborted) return Promise.reject(new Aborted(signal));
    if (this.#end !== null) return Promise.reject(this.#end);
    if (this.#isClosed) return Promise.reject(new ProtocolError("the session was closed; start another one"));
    const id = this.#nextId++;
    const meta = onProgress === undefined ? {} : { _meta: { ...(params["_meta"] as JsonObject), progressToken: id } };
    return new Promise<JsonObject>((resolve, reject) => {
      const line = lineOf({ id, method, params: { ...params, ...meta } });
      const forget = onAbort(signal, () => signal && this.#cancel(id, "the call was aborted", new Aborted(signal)));
      this.#pending.set(id, {
        resolve: (result) => (forget(), resolve(result)),
        reject: (error) => (forget(), reject(error)),
        onProgress: onProgress ?? (() => {}),
      });
      this.#child.write(line);
    });
  }

  notify(method: string, params: JsonObject = {}): void {
    this.#send({ method, params });
  }

  /** Closes the input of the process, which then ends by itself. It is killed if that takes longer than this. */
  close(graceMs: number): void {
    this.#isClosed = true;
    this.#child.end();
    this.#child.killAfter(graceMs);
  }

  /** Ends a request with this error, and tells the other side the reason. */
  #cancel(id: number, reason: string, error: unknown): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    this.notify("notifications/cancelled", { requestId: id, reason });
    pending?.reject(error);
  }

  #send(message: JsonObject): void {
    if (!this.#isClosed) this.#child.write(lineOf(message));
  }

  #receive(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", start)) {
      const line = Buffer.concat([...this.#unfinished, chunk.subarray(start, end)]);
      this.#unfinished = [];
      this.#unfinishedSize = 0;
      start = end + 1;
      this.#line(line);
    }
    if (this.#problem !== null) return;
    const rest = chunk.subarray(start);
    this.#unfinished.push(rest);
    this.#unfinishedSize += rest.length;
    if (this.#unfinishedSize > mostBytes) this.fail(`the process of the session wrote a line of more than ${mostBytes} bytes`);
  }

  #line(line: Buffer): void {
    if (this.#problem !== null) return;
    let message: unknown;
    try {
      message = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
    } catch {
      message = null;
    }
    if (!isObject(message) || message["jsonrpc"] !== "2.0") {
      const shown = JSON.stringify(line.toString("latin1", 0, 80));
      this.fail(`the process of the session wrote what is no message of MCP: ${shown}`);
      return;
    }
    const { id, method, result, error } = message;
    const params = isObject(message["params"]) ? message["params"] : {};
    if (typeof method === "string") {
      if (id === undefined) this.#notified(method, params);
      else void this.#answer(id, method, params);
      return;
    }
    const pending = typeof id === "number" ? this.#pending.get(id) : undefined;
    // The answer to a request that was cancelled comes too late.
    if (pending === undefined) return;
    this.#pending.delete(id as number);
    if (isObject(result)) pending.resolve(result);
    else if (isObject(error)) pending.reject(new RpcError(Number(error["code"]), String(error["message"]), error["data"]));
    else pending.reject(new ProtocolError("the process of the session sent an answer without a result"));
  }

  #notified(method: string, params: JsonObject): void {
    if (method === "notifications/cancelled") this.#answering.get(params["requestId"])?.abort();
    if (method !== "notifications/progress") return;
    const id = params["progressToken"] as number;
    try {
      this.#pending.get(id)?.onProgress(params);
    } catch (error) {
      // A callback that fails ends its call, as it would if the call had called it.
      this.#cancel(id, "the callback for progress failed", error);
    }
  }

  async #answer(id: unknown, method: string, params: JsonObject): Promise<void> {
    const controller = new AbortController();
    this.#answering.set(id, controller);
    try {
      const result = await this.#handler.request(method, params, controller.signal);
      this.#send({ id, result });
    } catch (error) {
      const isAnswer = error instanceof RpcError;
      // Nobody else gets the error of a callback.
      if (!isAnswer && !controller.signal.aborted) process.emitWarning(error instanceof Error ? error : inspect(error));
      const { code, message } = isAnswer ? error : { code: -32603, message: `the answer to ${method} failed` };
      this.#send({ id, error: { code, message } });
    } finally {
      this.#answering.delete(id);
    }
  }

  /** Ends the process because of what it did. */
  fail(problem: string): void {
    this.#problem ??= problem;
    this.#child.kill();
  }

  #reject(error: Error): void {
    this.#end = error;
    for (const controller of this.#answering.values()) controller.abort();
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
  }
}

/** The most levels of arrays and objects in a message that oneact reads. */
const mostLevels = 127;

/** The line of a message. oneact does not answer a line that it cannot read, so such a message is refused here. */
function lineOf(message: JsonObject): string {
  const text = JSON.stringify({ jsonrpc: "2.0", ...message });
  let levels = 0;
  let isInText = false;
  for (const [token] of text.matchAll(/\\(?:ud|.)|["[\]{}]/g)) {
    // All other characters of two units are written as they are.
    if (token === "\\ud") throw new TypeError("a text of the call has half of a surrogate pair; send whole characters");
    if (token === '"') isInText = !isInText;
    else if (!isInText) levels += token === "[" || token === "{" ? 1 : -1;
    if (levels > mostLevels) throw new TypeError(`the call has more than ${mostLevels} levels of arrays and objects`);
  }
  return `${text}\n`;
}
