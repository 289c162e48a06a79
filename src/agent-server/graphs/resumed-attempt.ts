import { nameId } from "../../platform/ids.ts";

/** An attempt that continues a run which an earlier attempt began. */
export type ResumedAttempt = {
  /** Its number: 2 for the first that resumes. */
  number: number;
  /** When the run first started, by the database's clock. */
  startedAt: Date;
};

/** Marks the spans that stand for attempts, so that pages need not read their names. */
export const attemptTag = "treadle:attempt";

/** Every attempt knows the spans of the others: a process that died cannot be asked. */
export function attemptSpanId(runId: string, number: number): string {
  return nameId(`attempt ${number}`, runId);
}

export function attemptName(number: number): string {
  return `attempt ${number}`;
}

export function lostAttemptError(number: number): string {
  return `Attempt ${number} ended before the run was done: its process ended or handed the run back. Attempt ${number + 1} continued from the last checkpoint.`;
}
