import { speaksProtocol, terminalRow } from "../delivery/terminal-event.ts";
import type { ClaimedRun, RunOutcome } from "../runs/run.ts";
import type { RunResult } from "../runs/run-end.ts";

/** The result of a run whose process ended too often. `lost`: how the process ended the last time, if that is known. */
export function exhaustedResult(run: ClaimedRun, now: number, lost?: string): RunResult {
  const attempts = run.attempt - run.excused;
  const message = run.alone
    ? `The run was started ${attempts} times and blocked the event loop of its process, alone in it at last. A node must not compute for long without awaiting something.`
    : `The run was started ${attempts} times and its process ended each time before it was done.${lost === undefined ? "" : ` The last time: ${lost}`}`;
  const error = { error: "AttemptsExhausted", message };
  const outcome: RunOutcome = {
    status: "error",
    threadStatus: "error",
    error,
    valuesJson: null,
    interruptsJson: "{}",
  };
  const last = {
    unwritten: [],
    held: [],
    terminal: speaksProtocol(run) ? terminalRow(run, outcome, now) : null,
  };
  const numbers = { seq: run.last_seq, protocol: run.protocol_seq, run: -1 };
  return { outcome, resultJson: JSON.stringify({ __error__: error }), ...last, numbers };
}
