import { z } from "zod";
import { commaList } from "./fields.ts";
import { invalidSettings } from "./parse-settings.ts";

/** What a process can be for, where the work of one server is shared by several. `src/app/roles.ts` says what each does. */
export const roleNames = ["api", "ingest", "gateway", "worker", "export", "controller", "builder"] as const;
export type Role = (typeof roleNames)[number];
/** `all`: one process does everything, and needs only its data folder. */
export type Roles = "all" | readonly Role[];

const mustBe = `must be all, or some of ${roleNames.join(", ")}, separated by commas`;

export const roleSettings = {
  TREADLE_ROLES: z
    .string()
    .default("all")
    .superRefine((given, context) => {
      const problem = problemOf(commaList(given));
      if (problem) context.addIssue({ code: "custom", message: problem });
    })
    .describe(
      `What this process does: all, or some of ${roleNames.join(", ")}, separated by commas, where several processes share the work (docs/scale.md).`,
    ),
  TREADLE_EXAMPLE_CHAT: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .describe(
      "Whether the example chat's endpoints (/api/threads) are served. They keep conversations in the memory of one process: auto = only with TREADLE_ROLES=all; on = also with the role api, which only one process may then have.",
    ),
};

function problemOf(names: readonly string[]): string | null {
  const unknown = names.filter((name) => name !== "all" && !(roleNames as readonly string[]).includes(name));
  if (names.length === 0) return mustBe;
  if (unknown.length > 0) return `${mustBe}; there is no role ${unknown.join(", ")}`;
  if (names.includes("all") && names.length > 1) return "all includes every role: name it alone";
  return null;
}

export function rolesOf(given: string): Roles {
  const names = commaList(given);
  return names.includes("all") ? "all" : roleNames.filter((name) => names.includes(name));
}

/** Settings that all processes of an installation have in common, and what each is for. */
const shared = {
  DATABASE_URL: "a PostgreSQL server that every process reaches, the same for all",
  TREADLE_SECRET_KEY: "the encryption key, the same for all: 16 or more characters",
  TREADLE_API_KEY: "the first API key, the same for all: 16 or more characters",
  TREADLE_PUBLIC_URL: "the address people use, where the balancer listens",
  TREADLE_INTERNAL_URL: "where deployed servers reach the api, such as http://treadle-api:8124",
  TREADLE_BLOB_URL:
    "storage for uploads, builds and logs that every process reaches, such as s3://bucket/prefix",
} as const;

/** Settings that are missing for these roles, each with what to set; none with `all`. */
export function missingSettings(roles: Roles, isSet: (name: string) => boolean): string[] {
  if (roles === "all") return [];
  return Object.entries(shared)
    .filter(([name]) => !isSet(name))
    .map(([name, what]) => `${name}: ${what}`);
}

export type RolesConfig = { roles: Roles; missingForRoles: readonly string[] };

/** Refuses a start with roles that share nothing. Everything that is missing is in the one message. */
export function requireSharedSettings({ roles, missingForRoles: missing }: RolesConfig): void {
  if (roles === "all" || missing.length === 0) return;
  throw invalidSettings(
    `TREADLE_ROLES=${roles.join(",")} shares its work with other processes, so all of them need the same settings. Set:\n  ${missing.join("\n  ")}\nOr leave TREADLE_ROLES out: then one process does everything, with a data folder alone.`,
  );
}

/** Combinations that work, but in which something has no effect. */
export function roleNotes(roles: Roles): string[] {
  if (roles === "all") return [];
  const has = (role: Role) => roles.includes(role);
  return [
    ...(has("api") && has("ingest")
      ? ["The role ingest adds nothing to the role api, which takes traces as well."]
      : []),
  ];
}
