import { type ChildProcess, type IOType, spawn } from "node:child_process";
import type { Writable } from "node:stream";

/** A command as it is really started. */
export type Launch = {
  program: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** Changed at the start; a sandbox of root's changes it inside. */
  user: { uid: number; gid: number } | null;
  /** What is read from descriptors 3, 4, …; nothing of the command happens before. */
  inputs: readonly (string | Buffer)[];
  /** Its first process only waits for the others, and would die of a signal they may handle. */
  sandboxed: boolean;
};

type Stdio = readonly [IOType | number, IOType | number, IOType | number];

/**
 * Starts it as the leader of a process group. `begin` lets it go: before, it can be put under limits that hold for
 * everything it starts.
 */
export function startEnclosed(launch: Launch, stdio: Stdio): { child: ChildProcess; begin(): void } {
  const child = spawn(launch.program, launch.args, {
    cwd: launch.cwd,
    env: launch.env,
    ...(launch.user ?? {}),
    stdio: [...stdio, ...launch.inputs.map(() => "pipe" as const)],
    detached: true,
  });
  return {
    child,
    begin() {
      for (const [place, text] of launch.inputs.entries()) {
        const input = child.stdio[3 + place] as Writable;
        // A command that could not be started reads nothing; how it ended decides.
        input.on("error", () => undefined);
        input.end(text);
      }
    },
  };
}
