import { availableParallelism, totalmem } from "node:os";
import { z } from "zod";
import { invalidSettings } from "./parse-settings.ts";
import type { Role, Roles } from "./roles.ts";

/** What worker processes take over from the process that started them. */
export const workerRoles = ["worker", "export"] as const satisfies readonly Role[];

const most = 32;
const gigabyte = 1024 ** 3;

export const workerSettings = {
  TREADLE_WORKERS: z
    .string()
    .default("auto")
    .refine(isCount, `must be auto, or a whole number from 0 to ${most}`)
    .describe(
      `Worker processes that \`treadle up\` starts beside itself: they execute runs, jobs and exports (docs/scale.md). 0: one process does everything; auto: 0 with fewer than 4 cores, otherwise half as many as cores, at most 8, and one for each GB of memory after the first.`,
    ),
};

function isCount(given: string): boolean {
  return given === "auto" || (/^\d{1,2}$/.test(given) && Number(given) <= most);
}

export function workersOf(given: string): "auto" | number {
  return given === "auto" ? given : Number(given);
}

export type WorkersConfig = { workers: "auto" | number; roles: Roles; runConcurrency: number };
export type Machine = { cores: number; memoryBytes: number };

/** What this process may use of its machine; Node knows the limits of a container. */
export function readMachine(): Machine {
  const limit = process.constrainedMemory();
  return {
    cores: availableParallelism(),
    memoryBytes: limit > 0 ? Math.min(limit, totalmem()) : totalmem(),
  };
}

/** How many worker processes to start. None where roles say what this process does: the others are started by hand. */
export function countWorkers({ workers, roles, runConcurrency }: WorkersConfig, machine: Machine): number {
  if (roles !== "all") return 0;
  return workers === "auto" ? Math.min(workersFor(machine), runConcurrency) : workers;
}

function workersFor({ cores, memoryBytes }: Machine): number {
  // The processes and PostgreSQL would share the cores, and each run costs more when processes hand it on.
  if (cores < 4) return 0;
  return Math.max(0, Math.min(8, Math.floor(cores / 2), Math.floor(memoryBytes / gigabyte) - 1));
}

/** Refuses a number that contradicts other settings. */
export function requireUsableWorkers({ workers, roles, runConcurrency }: WorkersConfig): void {
  if (workers === "auto" || workers === 0) return;
  if (roles !== "all")
    throw invalidSettings(
      `TREADLE_WORKERS=${workers} is for one server that does everything, but TREADLE_ROLES=${roles.join(",")} leaves a part of the work to processes that you start. Leave out one of the two.`,
    );
  if (workers > runConcurrency)
    throw invalidSettings(
      `TREADLE_WORKERS=${workers} needs at least as many runs at once, but TREADLE_RUN_CONCURRENCY is ${runConcurrency}. Lower the one or raise the other.`,
    );
}

/** What a program and its loader read before any code of ours runs. */
const readAtStart =
  /^(PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|NODE_(?!AUTH_)\w+|\w+_proxy|SSL_CERT_(FILE|DIR)|OPENSSL_\w+|LD_\w+|MALLOC_\w+|UV_(THREADPOOL_SIZE|USE_IO_URING))$/i;

/** The environment a worker process begins with. It stays readable in /proc, so the rest, with all secrets, follows through a pipe. */
export function pickStartEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => readAtStart.test(name)));
}
