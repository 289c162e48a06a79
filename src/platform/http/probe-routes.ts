import { z } from "zod";
import { AppError } from "../errors.ts";
import { json, type Route, route } from "./route.ts";

/** From its start to the signal that stops it. */
export type LifeState = "starting" | "ready" | "leaving";

export type Readiness = {
  /** What this process is for. */
  roles: readonly string[];
  /** Whether it is of no use while the database is away. */
  needsDatabase: boolean;
  state(): LifeState;
  /** Codes of what is away that requests can do without, all but a few. */
  problems?(): Promise<string[]>;
};

const tag = "System";
const access = { kind: "open" } as const;
const healthy = z.object({ ok: z.literal(true) }).meta({ id: "Health" });
const ready = z
  .object({
    ready: z.literal(true),
    roles: z.array(z.string()),
    problems: z
      .array(z.string())
      .describe("Codes of what is away that most requests can do without, such as `blob.unreachable`."),
  })
  .meta({ id: "Ready" });

/**
 * Liveness, for restarting processes, and readiness, for sending them requests: two questions with different answers.
 */
export function probeRoutes(readiness: Readiness, checkDatabase: () => Promise<void>): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/health",
        operationId: "getLiveness",
        summary: "Whether the process responds",
        description: "It asks nobody else: a restart would not bring the database back.",
        tag,
        access,
        responses: { 200: { description: "It does.", schema: healthy } },
      },
      () => json(200, { ok: true }),
    ),
    route(
      {
        method: "get",
        path: "/ready",
        operationId: "getReadiness",
        summary: "Whether requests should be sent to this process",
        description:
          "503 while it starts, from the signal that stops it, and, where its roles need the database, while that does not respond.",
        tag,
        access,
        responses: { 200: { description: "They should.", schema: ready } },
        errors: [503],
      },
      async () => {
        const state = readiness.state();
        if (state === "starting") throw starting();
        if (state === "leaving") throw leaving();
        if (readiness.needsDatabase) await checkDatabase();
        return json(200, {
          ready: true,
          roles: readiness.roles,
          problems: (await readiness.problems?.()) ?? [],
        });
      },
    ),
  ];
}

function starting(): AppError {
  return new AppError({
    code: "server.starting",
    kind: "unavailable",
    message: "The process is starting. It is ready in a moment.",
  });
}

function leaving(): AppError {
  return new AppError({
    code: "server.leaving",
    kind: "unavailable",
    message: "The process is stopping. Send requests to another one.",
  });
}
