import { tmpdir } from "node:os";
import { afterAll, describe, expect, test } from "vitest";
import { type Roles, readConfig, roleNames, workerRoles } from "../config/index.ts";
import { FolderBlobStore } from "../platform/blob/folder-blob-store.ts";
import { systemClock } from "../platform/clock.ts";
import { openDatabase } from "../platform/db/connection/open-database.ts";
import { SecretBox } from "../platform/encryption/secret-box.ts";
import { createLogger } from "../platform/logger.ts";
import { composePlatform } from "./compose.ts";
import { composeWorker } from "./compose-worker.ts";
import { planRoles, roleOfJob, roleOfWorker, rolesServing, roleTable, routeGroupOf } from "./roles.ts";

const logger = createLogger({ level: "silent" });
const database = openDatabase({ url: "postgres://127.0.0.1/none", poolSize: 2, logger });
afterAll(() => database.close());

/** Everything is built and nothing is started, so no database is asked. */
function compose(roles: Roles) {
  return composePlatform({
    ...workingGround(roles),
    state: () => "ready",
    blobs: new FolderBlobStore(tmpdir()),
    internalUrl: () => "http://127.0.0.1",
  });
}

function workingGround(roles: Roles) {
  return {
    config: readConfig({ TREADLE_ROLES: roles === "all" ? "all" : roles.join(",") }),
    plan: planRoles(roles),
    ...{ database, logger, clock: systemClock },
    databaseUrl: "postgres://127.0.0.1/none",
    secretBox: new SecretBox({ currentKey: "only to build the routes", previousKeys: [] }),
    publicUrl: () => "http://127.0.0.1",
  };
}

/** With all roles builds are part of the reconciler, which begins them under its lease. */
const withBuilds = (names: string[]) => [...names, "control-plane.builds"].sort();
const namesOf = ({ workers }: Pick<Awaited<ReturnType<typeof compose>>, "workers">) =>
  workers.map(({ name }) => name).filter((name) => name !== "platform.jobs");

describe("what runs in one process with all roles", () => {
  test("runs in exactly one of seven processes with one role each", async () => {
    const whole = await compose("all");
    expect(namesOf(whole).length).toBeGreaterThan(5);
    expect(whole.jobKinds.length).toBeGreaterThan(20);
    const apart = await Promise.all(roleNames.map((role) => compose([role])));
    expect(apart.flatMap(namesOf).sort()).toEqual(withBuilds(namesOf(whole)));
    expect(apart.flatMap(({ jobKinds }) => [...jobKinds]).sort()).toEqual([...whole.jobKinds].sort());
    // A process that takes no jobs has no worker that looks for them.
    const looking = apart.filter(({ workers }) => workers.some(({ name }) => name === "platform.jobs"));
    expect(looking.map(({ jobKinds }) => jobKinds.length > 0)).toEqual([true, true]);
  });

  test("is all that the table names", async () => {
    const whole = await compose("all");
    const rows = Object.values(roleTable);
    const named = rows.flatMap(({ workers }) => workers);
    // That one is only in the process of a listener.
    const here = named.filter((name) => name !== "control-plane.listener");
    expect(here.sort()).toEqual(withBuilds(namesOf(whole)));
    expect(rows.flatMap(({ jobs }) => jobs).sort()).toEqual([...whole.jobKinds].sort());
  });

  test("a worker or a job without a role cannot be composed", () => {
    expect(() => roleOfWorker("traces.new")).toThrow("The worker traces.new has no role.");
    expect(() => roleOfJob("traces.new")).toThrow("The kind of job traces.new has no role.");
    expect(roleOfWorker("agent-server.crons")).toBe("worker");
    expect(roleOfJob("control_plane.maintain")).toBe("controller");
  });
});

test("a worker process, which composes less, has all of the work of its roles", async () => {
  const [worker, whole] = [await composeWorker(workingGround(workerRoles)), await compose(workerRoles)];
  expect(namesOf(worker)).toContain("agent-server.runs");
  expect(namesOf(worker).sort()).toEqual(namesOf(whole).sort());
  expect([...worker.jobKinds].sort()).toEqual([...whole.jobKinds].sort());
});

test("a server and its worker processes do everything once, and it serves all of it", async () => {
  const server = planRoles("all", "auto", workerRoles);
  const worker = planRoles(workerRoles);
  const rows = Object.values(roleTable);
  for (const name of rows.flatMap(({ workers }) => workers))
    expect([server, worker].filter((plan) => plan.startsWorker(name))).toHaveLength(1);
  for (const kind of rows.flatMap(({ jobs }) => jobs))
    expect([server, worker].filter((plan) => plan.takesJobs(kind))).toHaveLength(1);
  for (const group of ["platform", "ingest", "gateway", "example_chat"] as const)
    expect([server.serves(group), worker.serves(group)]).toEqual([true, false]);
  expect(server).toMatchObject({ isWhole: true, names: ["all"], runsForeignCode: true });
  expect(worker.runsForeignCode).toBe(false);
});

describe("routes", () => {
  test("each is served by a role; health, facts and metrics by every one", async () => {
    const { routes } = await compose("all");
    const groups = new Map<string, number>();
    for (const { spec } of routes) {
      const group = routeGroupOf(spec.method, spec.path);
      groups.set(group, (groups.get(group) ?? 0) + 1);
    }
    expect(Object.fromEntries(groups)).toMatchObject({ system: 5, ingest: 6, gateway: 5, example_chat: 9 });
    for (const role of roleNames) expect(planRoles([role]).serves("system")).toBe(true);
    expect(rolesServing("platform")).toEqual(["api"]);
    expect(rolesServing("ingest")).toEqual(["api", "ingest"]);
    expect(rolesServing("gateway")).toEqual(["gateway"]);
  });

  test("requests belong where their route does", () => {
    expect(routeGroupOf("PATCH", "/api/v1/runs/0198a000-0000-7000-8000-000000000000")).toBe("ingest");
    expect(routeGroupOf("post", "/api/v1/runs/query")).toBe("platform");
    expect(routeGroupOf("GET", "/api/v1/runs/multipart")).toBe("platform");
    expect(routeGroupOf("GET", "/d/agent/ok")).toBe("gateway");
    expect(routeGroupOf("GET", "/deployments")).toBe("platform");
    expect(routeGroupOf("GET", "/api/threads/x/state")).toBe("example_chat");
    expect(routeGroupOf("GET", "/ready")).toBe("system");
  });

  test.each([
    ["/threads/search", "POST", "worker", 421, "role api."],
    ["/", "GET", "gateway", 421, "role api."],
    ["/docs", "GET", "controller", 421, "role api."],
    ["/openapi.json", "GET", "export", 421, "role api."],
    ["/d/agent/ok", "GET", "api", 421, "role gateway."],
    ["/api/v1/runs/batch", "POST", "gateway", 421, "role api or ingest."],
    ["/api/v1/runs/query", "POST", "ingest", 421, "role api."],
    ["/api/threads", "GET", "api", 404, "TREADLE_EXAMPLE_CHAT=on"],
    ["/nothing-here", "GET", "api", 404, "nothing at this path"],
    ["/nothing-here", "GET", "builder", 421, "role api."],
    ["/api/v1/info", "GET", "ingest", 200, ""],
    ["/health", "GET", "builder", 200, ""],
  ] as const)(
    "%s (%s) at a process with the role %s answers %i",
    async (path, method, role, status, words) => {
      const { http } = await compose([role]);
      const response = await http.fetch(new Request(`http://127.0.0.1${path}`, { method }));
      expect(response.status).toBe(status);
      const text = await response.text();
      expect(text).toContain(words);
      if (status === 421) {
        expect(response.headers.get("x-error-code")).toBe("request.other_role");
        expect(text).toContain(`the role ${role}.`);
      }
    },
  );

  test("the example chat, which is in memory, is served by one process: by all, or where it is switched on", () => {
    expect(planRoles("all").serves("example_chat")).toBe(true);
    expect(planRoles("all", "off").serves("example_chat")).toBe(false);
    expect(planRoles(["api"]).serves("example_chat")).toBe(false);
    expect(planRoles(["api"], "on").serves("example_chat")).toBe(true);
    expect(planRoles(["worker"], "on").serves("example_chat")).toBe(false);
  });
});

test("facts name the roles", async () => {
  const { http } = await compose(["gateway", "worker"]);
  const response = await http.fetch(new Request("http://127.0.0.1/info"));
  expect(await response.json()).toMatchObject({ metadata: { roles: ["gateway", "worker"] } });
});

test("a gateway is ready without the database, others are not", async () => {
  const ready = async (roles: Roles) => {
    const { http } = await compose(roles);
    const response = await http.fetch(new Request("http://127.0.0.1/ready"));
    return response.status;
  };
  expect(await ready(["gateway"])).toBe(200);
  expect(await ready(["gateway", "worker"])).toBe(503);
  expect(await ready("all")).toBe(503);
});
