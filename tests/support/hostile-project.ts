import { readFileSync } from "node:fs";
import type { GitFiles } from "./components/git-repository.ts";
import { quickProject } from "./quick-project.ts";

/** The targets of its attacks, as an attacker who knows the machine would choose them. */
export type HostileTargets = {
  dataFolder: string;
  /** Files and folders of the platform that nobody else may read. */
  platformFiles: readonly string[];
  platformPid: number;
  platformUrl: string;
  platformDatabaseUrl: string;
  /** Another process of the platform's user. */
  bystanderPid: number;
  /** Another deployment. */
  victim: {
    slug: string;
    deploymentId: string;
    workspaceId: string;
    artifact: string;
    port: number;
    pid: number | null;
    databaseName: string;
  };
  /** Another tracing project of its own workspace. */
  neighbour: { project: string; projectId: string; runId: string };
  /** Somebody of its own workspace has an account there. */
  provider: string;
};

/** One attempt: what it got, or why it got nothing. */
export type Attempt = { got?: unknown; refused?: string };
export type HostileReport = {
  attempts: Record<string, Attempt>;
  /** What must work, so that a refusal above is one. */
  controls: Record<string, Attempt>;
  uid: number;
};
/** The same attempts from the install command, while the server starts, and from a route. */
export type HostileReports = Record<"build" | "start" | "route", HostileReport>;

const fixture = (name: string) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url), "utf8");

/** A project whose code goes for everything that is not its own, at every moment it runs. */
export function hostileProject(targets: HostileTargets): GitFiles {
  const quick = quickProject("hostile");
  return {
    ...quick,
    "attacks.js": fixture("hostile-attacks.js"),
    "tracing-key.js": fixture("hostile-tracing-key.js"),
    "exhaustion.js": fixture("hostile-exhaustion.js"),
    "targets.json": JSON.stringify(targets),
    "install.js": `${quick["install.js"]}
const { attack } = await import("./attacks.js");
const { readFileSync, writeFileSync } = await import("node:fs");
const report = await attack(JSON.parse(readFileSync("targets.json", "utf8")));
writeFileSync("build-report.json", JSON.stringify(report));
`,
    "app.js": `import { readFileSync } from "node:fs";
import { Hono } from "hono";
import { attack } from "./attacks.js";
import { letProcessesGo, takeMemory, takeProcesses } from "./exhaustion.js";
const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
const targets = read("./targets.json");
const start = await attack(targets);
export const app = new Hono();
app.get("/version", (c) => c.json({ answer: "hostile" }));
app.post("/attack", async (c) => c.json({ build: read("./build-report.json"), start, route: await attack(targets) }));
app.post("/processes/take", async (c) => c.json(await takeProcesses(1_000)));
app.post("/processes/let-go", async (c) => c.json(await letProcessesGo()));
app.post("/memory/take", async (c) => c.json(await takeMemory(2_048)));
`,
  };
}
