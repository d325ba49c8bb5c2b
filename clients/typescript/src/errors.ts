// What the client throws.

import type { Failure } from "./outcome.js";
import type { Effect, Envelope, ErrorCode, Fault } from "./types.js";

/** Everything that this package throws, except for errors of its callers' arguments (`TypeError`). */
export class OneactError extends Error {}

/** There is no binary of oneact, or it cannot be started. */
export class BinaryMissing extends OneactError {}

/** How a process of oneact ended. */
export interface Ending {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The last lines of its stderr. */
  readonly stderr: string;
}

/** A run ended without a valid envelope, so nothing is known about its task. The ledger may have its answer. */
export class NoEnvelope extends OneactError implements Ending {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stderr: string;

  constructor(why: string, ending: Ending, options?: ErrorOptions) {
    const how = ending.signal === null ? `exit code ${ending.exitCode}` : `signal ${ending.signal}`;
    const said = ending.stderr.trim();
    super(`${why} (${how})${said === "" ? "" : `; its stderr ends with: ${said}`}`, options);
    this.exitCode = ending.exitCode;
    this.signal = ending.signal;
    this.stderr = ending.stderr;
  }
}

/** The process of a session ended, or was closed, before it answered. */
export class SessionEnded extends NoEnvelope {}

/** The process of a session refused a request, or sent what is no answer to it. */
export class ProtocolError extends OneactError {
  /** The code of the JSON-RPC error, if there was one. */
  readonly code: number | null;

  constructor(message: string, code: number | null = null) {
    super(message);
    this.code = code;
  }
}

/**
 * The `AbortSignal` of a call was aborted. It looks like Node's own `AbortError`: `name` is "AbortError", `code` is "ABORT_ERR",
 * and `cause` is the signal's reason.
 */
export class Aborted extends OneactError {
  readonly code = "ABORT_ERR";
  readonly #outcome: Failure | null;

  constructor(signal: AbortSignal, outcome: Failure | null = null, ended: NoEnvelope | null = null) {
    const what = outcome === null ? (ended?.message ?? "it has no answer") : `effect: ${outcome.effect}`;
    super(`the call was aborted; ${what}`, { cause: signal.reason });
    this.#outcome = outcome;
  }

  /** The answer of the cancelled run, which says whether anything may have changed. Null if there is none. */
  get outcome(): Failure | null {
    return this.#outcome;
  }
}

/** A task that did not succeed. One subclass for each family of faults, which is the `error_code` of the envelope. */
export class FaultError extends OneactError {
  /** The exact class of the failure. */
  readonly fault: Fault;
  /** Whether the same task may succeed if it is sent again. */
  readonly recoverable: boolean;
  /** Whether anything may have changed. */
  readonly effect: Effect | null;
  readonly #outcome: Failure<Envelope | null>;

  constructor(outcome: Failure<Envelope | null>) {
    super(outcome.message);
    this.fault = outcome.fault;
    this.recoverable = outcome.recoverable;
    this.effect = outcome.effect;
    this.#outcome = outcome;
  }

  /** The whole answer. It is no property of the error itself, so that a printed error does not contain it. */
  get outcome(): Failure<Envelope | null> {
    return this.#outcome;
  }
}

/** INVALID_INPUT: the input is no task. */
export class InvalidInput extends FaultError {}

/** VALIDATION_ERROR: the task breaks a rule of the catalog, of a tool's schema, of a plan or of an approval. */
export class ValidationError extends FaultError {}

/** DEPENDENCY_ERROR: something that the task needs is not there: an input, an answer, another run's end. */
export class DependencyError extends FaultError {}

/** The fault `approval_required`: a person has to approve the request first. */
export class ApprovalRequired extends DependencyError {
  /** The id for `oneact approve`. Null if the answer does not say it. */
  get approvalId(): string | null {
    return this.outcome.approvalId;
  }
}

/** OUT_OF_SCOPE: the context of the caller does not allow the task. */
export class OutOfScope extends FaultError {}

/** TIMEOUT: a tool did not answer in time. */
export class TimedOut extends FaultError {}

/** PROCESSING_ERROR: a tool, a server, the file system or oneact itself failed, or the run was cancelled. */
export class ProcessingError extends FaultError {}

// The names in stack traces, which a minifier would otherwise change.
for (const [name, type] of Object.entries({
  OneactError,
  BinaryMissing,
  NoEnvelope,
  SessionEnded,
  ProtocolError,
  AbortError: Aborted,
  FaultError,
  InvalidInput,
  ValidationError,
  DependencyError,
  ApprovalRequired,
  OutOfScope,
  TimedOut,
  ProcessingError,
})) {
  type.prototype.name = name;
}

type Family = new (outcome: Failure<Envelope | null>) => FaultError;

const families: Record<ErrorCode, Family> = {
  INVALID_INPUT: InvalidInput,
  VALIDATION_ERROR: ValidationError,
  DEPENDENCY_ERROR: DependencyError,
  OUT_OF_SCOPE: OutOfScope,
  TIMEOUT: TimedOut,
  PROCESSING_ERROR: ProcessingError,
};

/** The exception of a failure. */
export function faultError(outcome: Failure<Envelope | null>): FaultError {
  if (outcome.fault === "approval_required") return new ApprovalRequired(outcome);
  // A newer oneact may have another family.
  const family: Family | undefined = families[outcome.code];
  return new (family ?? FaultError)(outcome);
}
