// oneact: performs one agent action per task. The client starts the program `oneact` and speaks JSON with it.

export { Oneact, type OneactOptions, type RunOptions } from "./client.js";
export {
  Aborted,
  ApprovalRequired,
  BinaryMissing,
  DependencyError,
  type Ending,
  InvalidInput,
  NoEnvelope,
  OneactError,
  OutOfScope,
  ProcessingError,
  ProtocolError,
  SessionEnded,
  FaultError,
  TimedOut,
  ValidationError,
} from "./errors.js";
export type * as models from "./models.js";
export type { Failure, Outcome, OutputFile, Success } from "./outcome.js";
export type { RunLimits } from "./run.js";
export type {
  ApprovalAnswer,
  ApprovalRequest,
  Progress,
  Result,
  Session,
  SessionCallOptions,
  SessionOptions,
  SessionOutcome,
  Tool,
} from "./session.js";
export { type Input, InputData, InputFile, type PlanOptions, Task, type TaskOptions } from "./task.js";
export type * from "./types.js";
