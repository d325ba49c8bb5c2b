// The documents of oneact that callers meet most. `models` has all of them.

export type {
  Action,
  BareTask,
  Effect,
  Envelope,
  ErrorCode,
  Fault,
  InputRef,
  OutputRef,
  PlanDocument,
  Risk,
  RunFacts,
  State,
  Surroundings,
  TaskBody,
  TaskDocument,
  Waiting,
  WaitingForApproval,
  WaitingForClarification,
  WaitingForInput,
  WrappedTask,
} from "./models.js";

/** A JSON object whose keys a tool or the catalog decides. */
export interface JsonObject {
  [key: string]: unknown;
}
