// What became of a task.

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { mostBytes } from "./child.js";
import { faultError } from "./errors.js";
import type { Effect, Envelope, ErrorCode, Fault, JsonObject, OutputRef, State, Waiting } from "./types.js";

/**
 * The answer to a task. `ok` distinguishes the two. `E` is the type of the envelope: a call of a session has none if the
 * envelope is large, or if the call was refused before it was performed.
 */
export type Outcome<E extends Envelope | null = Envelope> = Success<E> | Failure<E>;

/** What an answer says, wherever it comes from. */
interface Facts<E> {
  readonly envelope: E;
  readonly state: State;
  readonly effect: Effect | null;
  readonly operationId: string | null;
  readonly sessionId: string | null;
  readonly message: string;
}

interface SuccessFacts<E> extends Facts<E> {
  readonly result: JsonObject | null;
  readonly text: string;
  readonly produced: readonly OutputRef[];
}

interface FailureFacts<E> extends Facts<E> {
  readonly fault: Fault;
  readonly code: ErrorCode;
  readonly recoverable: boolean;
  readonly waiting: Waiting | null;
}

abstract class Answer<E extends Envelope | null> {
  /** The whole answer of oneact. */
  readonly envelope: E;
  readonly state: State;
  /** Whether anything may have changed. Null if a session does not say it. */
  readonly effect: Effect | null;
  /** The id for `oneact show`. Null if the call of a session was refused before it was performed. */
  readonly operationId: string | null;
  /** Null if a session does not say it. */
  readonly sessionId: string | null;
  /** One sentence for people. */
  readonly message: string;

  constructor(facts: Facts<E>) {
    this.envelope = facts.envelope;
    this.state = facts.state;
    this.effect = facts.effect;
    this.operationId = facts.operationId;
    this.sessionId = facts.sessionId;
    this.message = facts.message;
  }
}

/** A task that succeeded. */
export class Success<E extends Envelope | null = Envelope> extends Answer<E> {
  readonly ok = true;
  readonly fault = null;
  readonly recoverable = false;
  readonly isWaiting = false;
  readonly waiting = null;
  readonly approvalId = null;
  /**
   * The result data; of a file plan its report, of a suggestion its card, of a dry run what would be done. Null if there are
   * only files.
   */
  readonly result: JsonObject | null;
  /** The result as text. */
  readonly text: string;
  /** The files that were made. */
  readonly files: readonly OutputFile[];

  constructor(facts: SuccessFacts<E>) {
    super(facts);
    this.result = facts.result;
    this.text = facts.text;
    this.files = facts.produced.map((ref) => new OutputFile(ref));
  }

  /** Returns this outcome. */
  orThrow(): Success<E> {
    return this;
  }
}

/** A task that failed, was refused, was cancelled or waits. */
export class Failure<E extends Envelope | null = Envelope> extends Answer<E> {
  readonly ok = false;
  readonly result = null;
  readonly files: readonly OutputFile[] = [];
  /** The exact class of the failure. */
  readonly fault: Fault;
  /** The family of the fault. */
  readonly code: ErrorCode;
  /** Whether the same task may succeed if it is sent again. */
  readonly recoverable: boolean;
  /** What is missing, if the task waits for a person, for answers or for information. */
  readonly waiting: Waiting | null;

  constructor(facts: FailureFacts<E>) {
    super(facts);
    this.fault = facts.fault;
    this.code = facts.code;
    this.recoverable = facts.recoverable;
    this.waiting = facts.waiting;
  }

  /** The fault and the message. */
  get text(): string {
    return `${this.fault}: ${this.message}`;
  }

  /** Whether the task goes on once something happens: an approval, an answer, a review, or the end of another run. */
  get isWaiting(): boolean {
    return this.state === "pending";
  }

  /** The id for `oneact approve`, if the task waits for an approval. */
  get approvalId(): string | null {
    return this.waiting?.for === "approval" ? this.waiting.approval_id : null;
  }

  /** Throws the exception of this failure. */
  orThrow(): never {
    throw faultError(this);
  }
}

/** A file that a task made. */
export class OutputFile {
  readonly refId: string;
  readonly uri: string;
  readonly assetType: string;

  constructor(ref: OutputRef) {
    this.refId = ref.ref_id;
    this.uri = ref.storage_uri;
    this.assetType = ref.asset_type;
  }

  /** The path on this machine. Null if the file is in an object store. */
  get path(): string | null {
    return this.uri.startsWith("file:") ? fileURLToPath(this.uri) : null;
  }

  /** The content. */
  async readBytes(): Promise<Uint8Array> {
    if (this.path === null) throw new TypeError(`${this.uri} is not on this machine; read it with a client of its store`);
    return readFile(this.path);
  }
}

/** The outcome that an envelope states. */
export async function outcomeOf(envelope: Envelope): Promise<Outcome> {
  const { task_result: task, oneact, execution_report: report, suggestion } = envelope.output.content;
  const { error } = envelope;
  const facts = {
    envelope,
    state: oneact.state,
    effect: oneact.effect,
    operationId: oneact.operation_id,
    sessionId: envelope.metadata.session_id,
    message: error.error_message ?? envelope.status.message,
  };
  const { fault, waiting } = oneact;
  const { error_code: code, recoverable } = error;
  if (fault !== null && code !== null) {
    return new Failure({ ...facts, fault, code, recoverable, waiting });
  }
  const other = report ?? suggestion ?? oneact.preview ?? oneact.plan;
  const result = task.result_data === null ? other && { ...other } : await whole(task.result_data);
  return new Success({ ...facts, result: result ?? null, text: textOf(result ?? null), produced: task.output_refs_produced });
}

/**
 * Result data that is too large for an answer is in a file, which is named after its content. Anything else stays as it
 * is: a tool can answer with a reference of its own, and decides nothing about what is read here.
 */
export async function whole(data: JsonObject): Promise<JsonObject> {
  const blob = data["$blob"];
  if (Object.keys(data).length !== 1 || !isObject(blob)) return data;
  const { storage_uri: uri, sha256 } = blob;
  if (typeof uri !== "string" || !uri.startsWith("file:///") || !uri.endsWith(`/sha256-${sha256}.json`)) return data;
  try {
    const content = await readRegular(fileURLToPath(uri));
    return createHash("sha256").update(content).digest("hex") === sha256 ? JSON.parse(content.toString("utf8")) : data;
  } catch {
    return data;
  }
}

/** The content of a file that may be something else: it is opened without waiting for a writer, and has a limit. */
async function readRegular(path: string): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (found.isFile() && found.size <= mostBytes) return await file.readFile();
    throw new TypeError(`${path} is no regular file of at most ${mostBytes} bytes`);
  } finally {
    await file.close();
  }
}

/** The text of a result: its only text, or its JSON. */
export function textOf(result: JsonObject | null): string {
  if (result === null) return "";
  const { text, ...rest } = result;
  return typeof text === "string" && Object.keys(rest).length === 0 ? text : JSON.stringify(result);
}

/** Whether a value has the form of an envelope, and all its parts say whether it is a failure. */
export function isEnvelope(value: unknown): value is Envelope {
  const at = (...path: string[]): unknown =>
    path.reduce<unknown>((found, key) => (isObject(found) ? found[key] : undefined), value);
  const isFailure = at("error", "has_error");
  return (
    typeof at("output", "content", "oneact", "state") === "string" &&
    Array.isArray(at("output", "content", "task_result", "output_refs_produced")) &&
    typeof isFailure === "boolean" &&
    isFailure === (typeof at("output", "content", "oneact", "fault") === "string") &&
    isFailure === (typeof at("error", "error_code") === "string") &&
    isObject(at("status")) &&
    isObject(at("metadata"))
  );
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
