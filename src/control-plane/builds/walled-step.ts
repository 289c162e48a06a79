import { randomUUID } from "node:crypto";
import { AppError } from "../../platform/errors.ts";
import type { Mount } from "../sandbox/bubblewrap.ts";
import type { Enclosing } from "../sandbox/walls.ts";
import type { PlaceOf } from "./build-request.ts";
import { runStep, StepFailed } from "./build-step.ts";
import type { BuildLease } from "./build-user.ts";
import { diskFull } from "./disk-full.ts";
import { endMarked, endUser, stepMark } from "./left-processes.ts";

/** One command of a project, as the build's user and behind the walls. */
export type WalledStep = {
  /** The program itself, as it is seen behind the walls. */
  program: string;
  args: string[];
  cwd: string;
  /** As people know it. */
  command: string;
  environment: Record<string, string>;
  /** What it sees beside the source, its home and its cache. */
  mounts: readonly Mount[];
  input?: string;
  /** In a sandbox the source is seen there, and cannot be changed. */
  treeAt?: string;
  /** Less than the time the build has left. */
  timeoutMs?: number;
};

export type StepOutcome =
  | { failed: false }
  | { failed: true; ending: string; lines: readonly string[]; tail(): string };

export type StepPlace = BuildLease & { tree: string; place: PlaceOf };

/** Runs it to its end; nothing it started is left. */
export async function runWalled(walls: Enclosing, step: WalledStep, at: StepPlace): Promise<StepOutcome> {
  const { command, args, cwd, treeAt, input } = step;
  const mark = randomUUID();
  const env = { ...step.environment, [stepMark]: mark };
  const { user } = at;
  const endLeft = () => (user ? endUser(user.uid) : endMarked(mark));
  const tree: Mount =
    treeAt === undefined ? { from: at.tree, writable: true } : { from: at.tree, to: treeAt };
  const launch = await walls.enclose({
    command: [step.program, ...args],
    cwd,
    environment: env,
    user: user ?? { uid: process.getuid!(), gid: process.getgid!() },
    home: at.home,
    mounts: [
      ...step.mounts,
      tree,
      ...[at.home, at.scratch, at.cache].map((from) => ({ from, writable: true })),
    ],
    privateFiles: false,
  });
  const place = at.place();
  const timeoutMs = Math.min(place.timeoutMs, step.timeoutMs ?? place.timeoutMs);
  const last: string[] = [];
  try {
    await runStep({
      ...place,
      onLine: (line) => {
        last.push(line);
        if (last.length > 15) last.shift();
        place.onLine(line, "project");
      },
      timeoutMs,
      command,
      args,
      cwd,
      env,
      launch,
      endLeft,
      ...(input === undefined ? {} : { input }),
    });
    return { failed: false };
  } catch (error) {
    // The time of a step alone is up, not that of the build.
    if (timeoutMs < place.timeoutMs && error instanceof AppError && error.code === "build.timeout") {
      const ending = `it did not finish within ${timeoutMs / 1000} s`;
      return { failed: true, ending, lines: last, tail: () => last.join("\n") };
    }
    if (!(error instanceof StepFailed)) throw error;
    if (/ENOSPC|No space left/i.test(error.tail(40))) throw diskFull();
    return { failed: true, ending: error.ending, lines: error.lines, tail: () => error.tail() };
  }
}
