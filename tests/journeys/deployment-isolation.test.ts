import { chmod, copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Enclosing, Walls } from "../../src/control-plane/sandbox/walls.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { ensureBubblewrap } from "../support/components/bubblewrap.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { deploy, gitDeployment, revisionDone } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

/** Shows how a sandbox looks from inside; hostile-tenant.test.ts tries to break out of it. */
const looks = `import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import { Hono } from "hono";
const attempt = (work) => { try { return { got: work() ?? null }; } catch (error) { return { refused: error.code ?? error.message }; } };
const pids = () => fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name));
// PTRACE_SEIZE by number: no program for it need be installed.
const traceCall = process.arch === "arm64" ? 117 : 101;
const trace = (pid) => spawnSync("perl", ["-e", "print syscall(" + traceCall + ", 0x4206, " + pid + ", 0, 0) < 0 ? 'refused' : 'traced'"], { encoding: "utf8" }).stdout;
export const app = new Hono();
app.get("/version", (c) => c.json({ answer: "looks" }));
app.post("/look", async (c) => {
  const { dataFolder, secretFile } = await c.req.json();
  const status = fs.readFileSync("/proc/self/status", "utf8");
  return c.json({
    uid: process.getuid(),
    pids: pids().length,
    commandLines: pids().map((pid) => attempt(() => fs.readFileSync("/proc/" + pid + "/cmdline", "utf8").replaceAll("\\0", " ")).got).filter(Boolean),
    otherRoots: pids().filter((pid) => attempt(() => fs.existsSync("/proc/" + pid + "/root" + secretFile)).got),
    secret: attempt(() => fs.readFileSync(secretFile, "utf8")),
    dataFolder: attempt(() => fs.readdirSync(dataFolder)),
    traceItself: trace(process.pid),
    setuidProgram: attempt(() => execFileSync("/srv/project/setuid-id", ["-u"], { encoding: "utf8" }).trim()),
    writeOwn: attempt(() => fs.writeFileSync("graph.js", "// mine")),
    writeTreadle: attempt(() => fs.writeFileSync(process.argv[1], "// mine")),
    noNewPrivileges: /NoNewPrivs:\\s+1/.test(status),
    capabilities: /CapEff:\\s+0+\\n/.test(status),
    filtered: /Seccomp:\\s+2/.test(status),
    core: fs.readFileSync("/proc/self/limits", "utf8").split("\\n").find((line) => line.startsWith("Max core")),
    descriptors: fs.readdirSync("/proc/self/fd").map((fd) => attempt(() => fs.readlinkSync("/proc/self/fd/" + fd)).got).filter((path) => path?.includes(dataFolder)),
    shadow: attempt(() => fs.readFileSync("/etc/shadow", "utf8")),
    passwd: fs.readFileSync("/etc/passwd", "utf8"),
    scratch: attempt(() => { fs.writeFileSync(process.env.HOME + "/mine", "x"); fs.writeFileSync("/tmp/mine", "x"); return "written"; }),
    date: execFileSync("date").length > 0,
  });
});
`;

type Attempt = { got?: unknown; refused?: string };
type Report = Record<string, Attempt> & {
  uid: number;
  pids: number;
  commandLines: string[];
  otherRoots: string[];
  descriptors: string[];
  core: string;
  passwd: string;
};

let site: DeploymentSite;

beforeAll(async () => {
  await ensureBubblewrap();
  site = await startDeploymentSite("isolation", { settings: { isolation: "required", bakeMs: 0 } });
});
afterAll(() => site?.stop());

async function artifactPaths(): Promise<string[]> {
  const { rows } = await raw<{ path: string }>`select path from build_artifacts order by created_at`.execute(
    site.database.database.sql,
  );
  return rows.map(({ path }) => path);
}

async function quick(name: string, more = {}) {
  const repository = await site.git.createRepository(name, quickProject(name, more));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  return { repository, body: gitDeployment(name, repository.url, { source_config }) };
}

describe("a sandbox, from inside", () => {
  it("holds the deployment's own, with the least rights", { timeout: 180_000 }, async () => {
    const { body } = await quick("looks", { "app.js": looks });
    const { deployment, revision } = await deploy(site.plane, body);
    expect(revision.status, revision.status_message ?? "").toBe("DEPLOYED");
    const [own] = await artifactPaths();
    // Where Treadle is root: a setuid program, which makes its user root unless the sandbox prevents it.
    await copyFile("/usr/bin/id", join(own!, "setuid-id"));
    await chmod(join(own!, "setuid-id"), 0o4755);
    // For everybody to read, if it were there.
    const secretFile = join(site.folder.path, "secret.key");
    await writeFile(secretFile, "the platform's", { mode: 0o644 });
    const answer = await fetch(`${site.plane.url}/d/${deployment.slug}/look`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": site.plane.apiKey },
      body: JSON.stringify({ dataFolder: site.folder.path, secretFile }),
    });
    const report = (await answer.json()) as Report;
    if (process.getuid?.() === 0) expect(report.uid).toBeGreaterThanOrEqual(300_000);
    expect(report.pids).toBeLessThanOrEqual(4);
    for (const line of report.commandLines) {
      expect(line).not.toContain(site.folder.path);
      expect(line).not.toMatch(/--port|--config|\/srv\/project/);
    }
    expect(report.otherRoots).toEqual([]);
    expect(report).toMatchObject({ secret: { refused: "ENOENT" }, dataFolder: { refused: "ENOENT" } });
    expect(report.traceItself).toBe("refused");
    expect(report.setuidProgram).toEqual({ got: String(report.uid) });
    for (const name of ["writeOwn", "writeTreadle"]) {
      expect([name, report[name]?.refused]).toEqual([name, expect.stringMatching(/^(EROFS|EACCES)$/)]);
    }
    expect(report).toMatchObject({ noNewPrivileges: true, capabilities: true, filtered: true });
    expect(report.core).toMatch(/^Max core file size\s+0\s/);
    // Its own log, by descriptor.
    expect(report.descriptors.every((path) => path.includes("/logs/"))).toBe(true);
    expect(report.shadow?.refused).toBe("ENOENT");
    expect(report.passwd).toMatch(/^agent:x:\d+:\d+::\/srv\/home:/);
    expect(report.scratch).toEqual({ got: "written" });
  });
});

describe("a project that writes without ever ending its line", () => {
  it("is deployed each time", { timeout: 240_000 }, async () => {
    const graph = quickProject("loading")["graph.js"]!;
    const { repository, body } = await quick("loading", {
      "graph.js": `process.stdout.write("Loading…");\n${graph}`,
    });
    const first = await deploy(site.plane, body);
    expect(first.revision.status, first.revision.status_message ?? "").toBe("DEPLOYED");
    await repository.commit({ "note.txt": "second" }, "second");
    const path = `/v2/deployments/${first.deployment.id}`;
    const patched = await site.plane.call<{ latest_revision_id: string }>("PATCH", path, {
      source_revision_config: { repo_ref: "main" },
    });
    expect(patched.status).toBe(200);
    const second = await revisionDone(site.plane, first.deployment.id, patched.body.latest_revision_id);
    expect(second.status, second.status_message ?? "").toBe("DEPLOYED");
  });
});

describe("TREADLE_ISOLATION=required", () => {
  it("refuses to deploy where there is no sandbox, with the reason and the fix", async () => {
    const walls = new Walls({ setting: "required", mustPass: [], path: "/nonexistent" });
    const bare = await startDeploymentSite("isolation-missing", { walls });
    try {
      const answer = await bare.plane.call(
        "POST",
        "/v2/deployments",
        gitDeployment("x", "https://example.com/x.git"),
      );
      expect(answer.status).toBe(409);
      expect(JSON.stringify(answer.body)).toContain(
        "bubblewrap is not installed. Install it: apt install bubblewrap",
      );
    } finally {
      await bare.stop();
    }
  });

  it("says in a revision's status why it was refused, at its build and at its start", {
    timeout: 120_000,
  }, async () => {
    await ensureBubblewrap();
    const good = new Walls({ setting: "required", mustPass: [] });
    const bare = new Walls({ setting: "required", mustPass: [], path: "/nonexistent" });
    // As after a restart on a machine that lost its sandbox.
    let now = good;
    const walls: Enclosing = {
      isolation: () => now.isolation(),
      enclose: (command) => now.enclose(command),
    };
    const moved = await startDeploymentSite("isolation-lost", { walls, settings: { bakeMs: 0 } });
    try {
      const repository = await moved.git.createRepository("lost", quickProject("lost"));
      const source_config = { repo_url: repository.url, install_command: quickInstall };
      const body = gitDeployment("lost", repository.url, { source_config });
      const { deployment, revision } = await deploy(moved.plane, body);
      expect(revision.status, revision.status_message ?? "").toBe("DEPLOYED");
      now = bare;
      const path = `/v2/deployments/${deployment.id}`;
      const reason = "TREADLE_ISOLATION=required, and bubblewrap is not installed. Install it";
      const built = await moved.plane.call<{ latest_revision_id: string }>("PATCH", path, {
        source_config: { install_command: `${quickInstall} --again` },
      });
      expect(await revisionDone(moved.plane, deployment.id, built.body.latest_revision_id)).toMatchObject({
        status: "BUILD_FAILED",
        status_message: expect.stringContaining(reason),
      });
      // Built long ago: it is the start that is refused.
      const again = await moved.plane.call<{ latest_revision_id: string }>(
        "POST",
        `${path}/revisions/${revision.id}/redeploy`,
      );
      expect(await revisionDone(moved.plane, deployment.id, again.body.latest_revision_id)).toMatchObject({
        status: "DEPLOY_FAILED",
        status_message: expect.stringContaining(reason),
      });
    } finally {
      await moved.stop();
    }
  });
});
