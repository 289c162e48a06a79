import { type Role, type Roles, roleNames } from "../config/index.ts";

/** Parts of the HTTP interface that go to different processes. Health, facts and metrics are on every one. */
export type RouteGroup = "platform" | "ingest" | "gateway" | "example_chat";

type RoleRow = {
  /** In words, for people. */
  what: string;
  routes: readonly RouteGroup[];
  /** Names of the workers that take work on their own. */
  workers: readonly string[];
  /** Kinds of jobs it takes from the shared queue; it also queues those that recur. */
  jobs: readonly string[];
  /** Whether it is of no use to its callers while the database is away. */
  needsDatabase: boolean;
  /** Whether it reads or writes runs of traces. */
  usesRuns: boolean;
};

/** What a process does for each role. Each worker and each kind of job belongs to exactly one. */
export const roleTable: Readonly<Record<Role, RoleRow>> = {
  api: {
    what: "the API, the console and the chat",
    routes: ["platform", "ingest", "example_chat"],
    workers: [],
    jobs: [],
    needsDatabase: true,
    usesRuns: true,
  },
  ingest: {
    what: "takes traces from SDKs and OpenTelemetry",
    routes: ["ingest"],
    workers: [],
    jobs: [],
    needsDatabase: true,
    usesRuns: true,
  },
  gateway: {
    what: "passes requests on to deployments",
    routes: ["gateway"],
    workers: ["control-plane.held_requests"],
    jobs: [],
    // It continues with the servers it knows.
    needsDatabase: false,
    usesRuns: false,
  },
  worker: {
    what: "executes runs, fires crons and does background jobs",
    routes: [],
    workers: ["agent-server.runs", "agent-server.crons"],
    jobs: [
      "agent.webhook",
      "agent.prune_events",
      "agent.sweep_threads",
      "alerts.deliver",
      "alerts.evaluate",
      "auth.deliver_token_event",
      "auth.find_revocation",
      "auth.prune",
      "auth.refresh_tokens",
      "auth.remove_departed",
      "auth.remove_provider",
      "auth.revoke_pending",
      "http.sweep_idempotency_keys",
      "jobs.prune",
      "store.sweep_expired",
      "traces.partitions",
      "traces.retention",
      "traces.sweep",
      "workspaces.prune_audit_events",
      "workspaces.prune_sessions",
    ],
    needsDatabase: true,
    usesRuns: true,
  },
  export: {
    what: "runs bulk exports and their schedules",
    routes: [],
    workers: ["bulk-export.steps", "bulk-export.partitions", "bulk-export.schedules"],
    jobs: [],
    needsDatabase: true,
    usesRuns: true,
  },
  controller: {
    what: "starts, watches and replaces deployed servers; one of several is active",
    routes: [],
    workers: ["control-plane.reconciler", "control-plane.listener"],
    jobs: [
      "control_plane.maintain",
      "control_plane.move_logs",
      "control_plane.poll_branches",
      "control_plane.recheck_domains",
    ],
    needsDatabase: true,
    // With a deployment, its project may be removed.
    usesRuns: true,
  },
  builder: {
    what: "builds deployments",
    routes: [],
    workers: ["control-plane.builds"],
    jobs: [],
    needsDatabase: true,
    usesRuns: false,
  },
};

const systemPaths = new Set(["/ok", "/health", "/ready", "/info", "/metrics"]);
/** What SDKs and collectors send runs to, with the question they begin with. */
const ingestRoutes = [
  "GET /api/v1/info",
  "POST /api/v1/runs",
  "POST /api/v1/runs/batch",
  "POST /api/v1/runs/multipart",
  "PATCH /api/v1/runs/{run_id}",
  "POST /api/v1/otel/v1/traces",
];
const ingestPatterns = ingestRoutes.map(
  (route) => new RegExp(`^${route.replace(/\{[a-z_]+\}/, "[^/]+").replaceAll(".", "\\.")}$`),
);

/** The group that a request or a route belongs to; `system` belongs to all. */
export function routeGroupOf(method: string, path: string): RouteGroup | "system" {
  // Pods fetch what they build and run from whichever process they were given the address of.
  if (systemPaths.has(path) || path.startsWith("/internal/")) return "system";
  if (path === "/d" || path.startsWith("/d/")) return "gateway";
  if (path === "/api/assistants" || /^\/api\/threads(\/|$)/.test(path)) return "example_chat";
  const asked = `${method.toUpperCase()} ${path}`;
  return ingestPatterns.some((pattern) => pattern.test(asked)) ? "ingest" : "platform";
}

export type RolePlan = {
  /** Names, for people and for `/info`. */
  names: readonly (Role | "all")[];
  isWhole: boolean;
  serves(group: RouteGroup | "system"): boolean;
  startsWorker(name: string): boolean;
  takesJobs(kind: string): boolean;
  /** Whether it starts deployed servers or builds them, so that what encloses them is its own machine's. */
  runsForeignCode: boolean;
  needsDatabase: boolean;
  usesRuns: boolean;
};

/** What a process with these roles serves and starts. `leaves`: roles that it leaves to processes of its own. */
export function planRoles(
  roles: Roles,
  exampleChat: "auto" | "on" | "off" = "auto",
  leaves: readonly Role[] = [],
): RolePlan {
  const isWhole = roles === "all";
  const own = (isWhole ? roleNames : roles).filter((role) => !leaves.includes(role));
  const rows = own.map((role) => roleTable[role]);
  const chat = exampleChat === "on" || (exampleChat === "auto" && isWhole);
  return {
    names: isWhole ? ["all"] : roles,
    isWhole,
    serves: (group) =>
      group === "system" ||
      ((group !== "example_chat" || chat) && rows.some(({ routes }) => routes.includes(group))),
    startsWorker: (name) => own.includes(roleOfWorker(name)),
    takesJobs: (kind) => own.includes(roleOfJob(kind)),
    runsForeignCode: own.includes("controller") || own.includes("builder"),
    needsDatabase: rows.some(({ needsDatabase }) => needsDatabase),
    usesRuns: rows.some(({ usesRuns }) => usesRuns),
  };
}

/** The roles of which any answers such requests. */
export function rolesServing(group: RouteGroup): Role[] {
  return roleNames.filter((role) => roleTable[role].routes.includes(group));
}

export function roleOfWorker(name: string): Role {
  return ownerOf(name, "worker", ({ workers }) => workers);
}

export function roleOfJob(kind: string): Role {
  return ownerOf(kind, "kind of job", ({ jobs }) => jobs);
}

/** Throws: work without a role would not run where roles are split, and work of two roles would run twice. */
function ownerOf(name: string, what: string, listOf: (row: RoleRow) => readonly string[]): Role {
  const [owner, ...others] = roleNames.filter((role) => listOf(roleTable[role]).includes(name));
  if (owner === undefined) throw new Error(`The ${what} ${name} has no role. Name it in src/app/roles.ts.`);
  if (others.length > 0)
    throw new Error(`The ${what} ${name} has two roles, ${owner} and ${others.join(", ")}.`);
  return owner;
}
