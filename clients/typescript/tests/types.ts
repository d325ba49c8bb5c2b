// Programs that the compiler must accept, and lines that it must refuse. Nothing here is run.

import {
  type Action,
  ApprovalRequired,
  type Fault,
  FaultError,
  InputData,
  InputFile,
  type models,
  Oneact,
  type Outcome,
  type PlanDocument,
  type Progress,
  type Session,
  Task,
  type TaskDocument,
} from "oneact";

function is<T>(_: T): void {}
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

declare const client: Oneact;
declare const session: Session;

export async function outcomes(outcome: Outcome): Promise<void> {
  if (outcome.ok) {
    is<null>(outcome.fault);
    is<unknown>(outcome.result?.["sum"]);
    // @ts-expect-error: the value of a tool has no known type.
    is<number>(outcome.result?.["sum"]);
    // @ts-expect-error: there may be no first file.
    outcome.files[0].refId;
  } else {
    is<Fault>(outcome.fault);
    // @ts-expect-error: no fault has this name.
    if (outcome.fault === "printer_on_fire") return;
    // @ts-expect-error: a failure has no result.
    outcome.result.sum;
    if (outcome.waiting?.for === "approval") is<string>(outcome.waiting.approval_id);
    // @ts-expect-error: what else is waited for has no approval.
    outcome.waiting?.approval_id;
    is<never>(outcome.orThrow());
  }
  is<true>(outcome.orThrow().ok);
  is<models.Phase>(outcome.envelope.output.content.oneact.phase);
  // @ts-expect-error: an outcome is read, not written.
  outcome.state = "done";
}

export async function calls(): Promise<void> {
  const success = await client.call("add", { a: 1 }, { inputs: [new InputFile("a"), new InputData("b")], timeout: 1000 });
  is<Equal<typeof success.ok, true>>(true);
  await client.call("add", {}, { signal: AbortSignal.timeout(1), sessionId: undefined });
  // @ts-expect-error: the parameters are an object.
  await client.call("add", "a=1");
  // @ts-expect-error: the option is `timeout`.
  await client.call("add", {}, { timeoutMs: 1000 });
  // @ts-expect-error: an input is a file, bytes, or a reference.
  await client.call("add", {}, { inputs: ["a.txt"] });
  // @ts-expect-error: a duration is a number.
  await client.perform(Task.call("add"), { timeout: "1s" });
  // @ts-expect-error: the option is `root`.
  new Oneact({ directory: "." });
}

export function tasks(action: Action): TaskDocument[] {
  const plan: PlanDocument = {
    plan_id: "p",
    action_plan: [{ action_id: "a", action_type: "FILE_DELETE", target: "a.txt", operation: { type: "delete" } }],
  };
  if (action.action_type === "FILE_CREATE") is<models.Create | models.Symlink>(action.operation);
  // @ts-expect-error: no action has this type.
  if (action.action_type === "FILE_PRINT") return [];
  // @ts-expect-error: a task names its capabilities.
  is<TaskDocument>({ task_id: "t" });
  // @ts-expect-error: an option that is given has a value (exactOptionalPropertyTypes).
  is<TaskDocument>({ task_id: "t", capability_ids: ["a"], input_refs_resolved: undefined });
  return [Task.plan(plan).document, { kind: "suggestion", title: "t" }, { task_id: "t", capability_ids: ["a"] }];
}

export async function sessions(): Promise<void> {
  await using own = await client.session({ onApproval: ({ message }) => (message === "" ? "later" : "approve") });
  // @ts-expect-error: an answer is one of three words.
  await client.session({ onApproval: () => true });
  for await (const event of own.stream("add")) {
    if (event.type === "progress") is<Progress>(event);
    else is<string | null>(event.outcome.sessionId);
    // @ts-expect-error: a result has no progress.
    event.progress;
  }
  const outcome = await session.call("add");
  // @ts-expect-error: a large envelope is not in the answer of a session.
  outcome.envelope.status;
  is<string | undefined>(outcome.envelope?.status.message);
}

export function errors(error: unknown): string | null {
  if (error instanceof ApprovalRequired) return error.approvalId;
  if (error instanceof FaultError) return is<Fault>(error.fault) ?? error.message;
  // @ts-expect-error: its type is not known.
  return error.message;
}

/** Every fault is handled, or the compiler complains. */
export function exhaustive(effect: models.Effect): number {
  switch (effect) {
    case "none":
      return 0;
    case "unknown":
      return 1;
    case "done":
      return 2;
    default:
      return effect satisfies never;
  }
}
