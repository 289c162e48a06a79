/**
 * What the sandbox costs: starting a server with and without bubblewrap, and per request, in turn.
 * `node bench/sandbox.ts [--starts 7]`, as root. Without bubblewrap each server is a user of its own, so the difference
 * is the sandbox alone.
 */
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { Walls } from "../src/control-plane/sandbox/walls.ts";
import { raw } from "../src/platform/db/raw.ts";
import { migrate } from "../src/platform/db/schema/migrate.ts";
import { createLogger } from "../src/platform/logger.ts";
import { startGitServer } from "../tests/support/components/git-server.ts";
import { createTempFolder } from "../tests/support/components/temp-folder.ts";
import { packageRoot, startControlPlane } from "../tests/support/control-plane.ts";
import { type DeploymentBody, deploy, gitDeployment, revisionDone } from "../tests/support/deployments.ts";
import { migrationsDirectory, startScratchServer } from "../tests/support/postgres.ts";
import { quickInstall, quickProject } from "../tests/support/quick-project.ts";
import { median } from "./load.ts";

const { values } = parseArgs({
  options: { starts: { type: "string", default: "7" } },
});
const git = await startGitServer();
const closing: (() => Promise<unknown>)[] = [() => git.stop()];

async function open(name: string, path: string | undefined) {
  const postgres = await startScratchServer();
  closing.unshift(() => postgres.stop());
  const logger = createLogger({ level: "warn" });
  await migrate({ url: postgres.url, directory: migrationsDirectory, logger });
  const folder = await createTempFolder(`bench-${name}`);
  closing.unshift(() => folder.remove());
  const walls = new Walls({ setting: "auto", mustPass: [process.execPath, packageRoot], path });
  const plane = await startControlPlane({
    databaseUrl: postgres.url,
    folder: folder.path,
    settings: { bakeMs: 0 },
    walls,
  });
  closing.unshift(() => plane.stop());
  const add = async (slug: string) => {
    const repository = await git.createRepository(`${name}-${slug}`, quickProject(slug));
    const source_config = { repo_url: repository.url, install_command: quickInstall };
    const made = await deploy(plane, gitDeployment(slug, repository.url, { source_config }));
    if (made.revision.status !== "DEPLOYED") throw new Error(made.revision.status_message ?? "not deployed");
    return made;
  };
  return { name, kind: (await walls.isolation()).kind, plane, add, first: await add("one") };
}

type Place = Awaited<ReturnType<typeof open>>;

/** From the start of the process until its ready file is there. */
async function startMs({ plane, first }: Place): Promise<number> {
  const { deployment, revision } = first;
  const path = `/v2/deployments/${deployment.id}/revisions/${revision.id}/redeploy`;
  const { body } = await plane.call<DeploymentBody>("POST", path);
  const done = await revisionDone(plane, deployment.id, body.latest_revision_id!);
  if (done.status !== "DEPLOYED") throw new Error(done.status_message ?? "not deployed");
  const { rows } = await raw<{ ms: number }>`
    select extract(epoch from ready_at - started_at)::float8 * 1000 as ms from deployment_instances
    where revision_id = ${body.latest_revision_id}`.execute(plane.database.sql);
  return rows[0]!.ms;
}

async function requestMs({ first, plane }: Place): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < 600; index += 1) {
    const from = performance.now();
    await (
      await fetch(`${first.deployment.url}/version`, { headers: { "x-api-key": plane.apiKey } })
    ).arrayBuffer();
    if (index >= 100) times.push(performance.now() - from);
  }
  return median(times);
}

try {
  const places = [await open("sandboxed", process.env.PATH), await open("users", "/nonexistent")];
  const starts = new Map<Place, number[]>(places.map((place) => [place, []]));
  const requests = new Map<Place, number[]>(places.map((place) => [place, []]));
  for (let round = 0; round < Number(values.starts); round += 1) {
    for (const place of round % 2 === 0 ? places : places.toReversed()) {
      starts.get(place)!.push(await startMs(place));
      requests.get(place)!.push(await requestMs(place));
    }
  }
  const report: Record<string, unknown> = {
    machine: `${cpus().length} × ${cpus()[0]?.model}`,
    load: loadavg()[0]!.toFixed(1),
  };
  for (const place of places) {
    report[place.name] = {
      kind: place.kind,
      start_ms: Math.round(median(starts.get(place)!)),
      request_p50_ms: Number(median(requests.get(place)!).toFixed(2)),
    };
  }
  console.log(JSON.stringify(report, null, 2));
} finally {
  for (const close of closing) await close();
}
