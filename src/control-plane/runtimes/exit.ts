/**
 * How servers end. `lost`: it was not running when the platform restarted. `unknown`: another process of the platform had
 * started it, and only that one would have got its exit code.
 */
export const exitKinds = [
  "stopped",
  "port_taken",
  "exit_code",
  "signal",
  "out_of_memory",
  "removed",
  "lost",
  "unknown",
  "not_started",
] as const;
export type ExitKind = (typeof exitKinds)[number];

/** `detail` is the code, the signal's name, the limit in MB, or why it was not started. */
export type Exit = { kind: ExitKind; detail: string | null };

/** As columns. */
export type ExitColumns = { exit_kind: ExitKind | null; exit_detail: string | null };

/** An end that was asked for. */
export const stoppedByUs: Exit = { kind: "stopped", detail: null };
/** An end that another port would have prevented. */
export const portTaken: Exit = { kind: "port_taken", detail: null };
/** Its container is gone. */
export const removed: Exit = { kind: "removed", detail: null };
export const lostMeanwhile: Exit = { kind: "lost", detail: null };
export const unknownEnd: Exit = { kind: "unknown", detail: null };

/** The exit code of `treadle agent` when its port was taken. */
export const portTakenCode = 4;

export function exitedWith(code: number | null): Exit {
  return { kind: "exit_code", detail: String(code ?? "unknown") };
}

export function endedBySignal(name: string): Exit {
  return { kind: "signal", detail: name };
}

/** An end that a larger limit, or a smaller appetite, would have prevented. */
export function outOfMemory(limitBytes: number | null): Exit {
  const detail = limitBytes === null ? null : String(Math.round(limitBytes / 1024 / 1024));
  return { kind: "out_of_memory", detail };
}

export function notStarted(why: string): Exit {
  return { kind: "not_started", detail: why };
}

/** The server did nothing wrong, so its next start is a first one. */
export function isInnocent(kind: ExitKind | null): boolean {
  return kind === "stopped" || kind === "lost";
}

/** It exited unexpectedly: such ends are counted as restarts. */
export const ownEnds: readonly ExitKind[] = exitKinds.filter(
  (kind) => !isInnocent(kind) && kind !== "port_taken",
);

/** As it stands in a sentence, after "It ended:". */
export function exitText({ kind, detail }: Exit): string {
  switch (kind) {
    case "stopped":
      return "stopped";
    case "port_taken":
      return "its port was taken by another process";
    case "exit_code":
      return `exit code ${detail}`;
    case "signal":
      return `signal ${detail}`;
    case "out_of_memory": {
      const limit = detail === null ? "the machine had no more" : `its limit is ${detail} MB`;
      return `out of memory: ${limit}. Give the deployment more with resource_spec.memory_limit_mb, or make it use less`;
    }
    case "removed":
      return "its container was removed";
    case "lost":
      return "it was not running when the platform restarted";
    case "unknown":
      return "for an unknown reason: it was started before the platform restarted";
    case "not_started":
      return `it could not be started: ${detail}`;
  }
}

export function exitOf({ exit_kind: kind, exit_detail: detail }: ExitColumns): Exit | null {
  return kind === null ? null : { kind, detail };
}
