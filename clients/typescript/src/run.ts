// One run: a process that reads one task and prints one envelope.

import { after, checkDuration, Child, type Command, mostBytes, onAbort } from "./child.js";
import { Aborted, type Ending, NoEnvelope } from "./errors.js";
import { isEnvelope, type Outcome, outcomeOf } from "./outcome.js";
import type { Envelope } from "./types.js";

/** How a run is limited. */
export interface RunLimits {
  /** Cancels the run: it rejects with `Aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds after which the run is cancelled: its outcome has the fault `cancelled`. */
  readonly timeout?: number | undefined;
  /** Milliseconds between the cancellation (SIGTERM) and the end of a run that does not react to it (SIGKILL). Default: 10,000. */
  readonly grace?: number | undefined;
}

/** @internal Performs one run. */
export async function run(command: Command, task: string, limits: RunLimits): Promise<Outcome> {
  const { signal, timeout, grace = 10_000 } = limits;
  checkDuration("timeout", timeout);
  checkDuration("grace", grace);
  if (signal?.aborted) throw new Aborted(signal);
  const chunks: Buffer[] = [];
  let size = 0;
  const child = new Child(command, (chunk) => {
    size += chunk.length;
    if (size > mostBytes) child.kill();
    else chunks.push(chunk);
  });
  const stop = () => child.stop(grace);
  const forget = [onAbort(signal, stop), after(timeout, stop)];
  try {
    child.end(task);
    const ending = await child.ended;
    if (size > mostBytes) tooMuch(ending);
    const outcome = await outcomeOf(read(Buffer.concat(chunks), ending));
    // A run that ended by itself before the signal arrived is answered as usual.
    if (signal?.aborted && outcome.fault === "cancelled") throw new Aborted(signal, outcome);
    return outcome;
  } catch (error) {
    if (signal?.aborted && error instanceof NoEnvelope) throw new Aborted(signal, null, error);
    throw error;
  } finally {
    forget.forEach((each) => each());
  }
}

function tooMuch(ending: Ending): never {
  throw new NoEnvelope(`the run printed more than ${mostBytes} bytes, which is no envelope, and was killed`, ending);
}

function read(output: Buffer, ending: Ending): Envelope {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(output));
  } catch (cause) {
    const what = output.length === 0 ? "nothing" : `what is no JSON: ${JSON.stringify(output.toString("latin1", 0, 80))}`;
    throw new NoEnvelope(`the run printed ${what}`, ending, { cause });
  }
  if (!isEnvelope(value)) throw new NoEnvelope("the run printed JSON that is no envelope", ending);
  return value;
}
