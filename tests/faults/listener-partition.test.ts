import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { freePort } from "../support/components/free-port.ts";
import type { GitRepository } from "../support/components/git-repository.ts";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentBody, gitDeployment, revisionDone } from "../support/deployments.ts";
import { ListenerSite } from "../support/listener-site.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import type { RunningTreadle } from "../support/treadle.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

type Deployment = DeploymentBody & { health: { state: string } };

/** Two processes with one database have one encryption key. */
const sharedKey = { TREADLE_SECRET_KEY: randomBytes(32).toString("hex") };

/** A network between a listener and its platform that fails; and what is wanted changes meanwhile. */
let site: ListenerSite;
let network: TcpProxy;
let listener: { id: string; key: string };
let first: RunningTreadle;
let repository: GitRepository;
let id: string;
let url: string;

async function makeListener(name: string) {
  const made = await site.call<{ id: string }>("POST", "/v2/listeners", {
    ...{ compute_type: "process", compute_id: name, compute_config: {} },
  });
  const { body } = await site.call<{ key: string }>("POST", "/v2/api-keys", {
    ...{ name, service: true, scopes: ["listener"] },
  });
  return { id: made.body.id, key: body.key };
}

beforeAll(async () => {
  site = await ListenerSite.prepare();
  network = await startTcpProxy({ target: site.url });
  listener = await makeListener("cut off");
  const waiting = `console.log("it waits"); setInterval(() => {}, 1_000);`;
  repository = await site.git.createRepository("cut", quickProject("one", { "wait.js": waiting }));
  first = await site.startListener({
    ...{ id: listener.id, key: listener.key, port: await freePort() },
    ...{ platformUrl: `http://127.0.0.1:${network.port}`, env: sharedKey },
  });
  const source_config = {
    ...{ repo_url: repository.url, install_command: quickInstall, listener_id: listener.id },
  };
  const made = await site.call<Deployment>(
    "POST",
    "/v2/deployments",
    gitDeployment("cut", repository.url, { source_config }),
  );
  id = made.body.id;
  await revisionDone(site.calls, id, made.body.latest_revision_id!);
  url = (await serving()).url;
});
afterAll(async () => {
  await site?.stop();
  await network?.stop();
});

const wait = <T>(what: string, check: () => Promise<T>) =>
  waitUntil(check, { what, timeoutMs: 100_000, intervalMs: 100 });
const deploymentOf = async () => (await site.call<Deployment>("GET", `/v2/deployments/${id}`)).body;
const version = async () => {
  const answer = await fetch(`${url}/version`, { headers: site.headers });
  return answer.status === 200 ? ((await answer.json()) as { answer: string }).answer : answer.status;
};

async function serving(): Promise<Deployment> {
  return wait("the report that it serves", async () => {
    const found = await deploymentOf();
    const isServing = found.health.state === "serving" && found.active_revision_id !== null;
    return isServing ? found : undefined;
  });
}

/** As a platform that was restored, or an operator's repair, does it: the API moves no deployment. */
async function moveTo(listenerId: string): Promise<void> {
  const { sql } = site.databases.platform.database;
  await raw`update deployments set source_config = source_config || ${JSON.stringify({ listener_id: listenerId })}::jsonb
    where id = ${id}`.execute(sql);
  await raw`select pg_notify('treadle_listeners', id::text) from listeners`.execute(sql);
}

async function local() {
  const { rows } = await raw<{ deleted: boolean }>`
    select deleted_at is not null as deleted from deployments where id = ${id}`.execute(
    site.databases.place.database.sql,
  );
  return rows[0];
}

const statusAtPlace = async (revisionId: string) => {
  const { rows } = await raw<{
    status: string;
  }>`select status from revisions where id = ${revisionId}`.execute(site.databases.place.database.sql);
  return rows[0]?.status;
};

test("a deployment that was moved away and back while its listener was cut off is served again", async () => {
  expect(await version()).toBe("one");
  const elsewhere = await makeListener("elsewhere");
  await moveTo(elsewhere.id);
  await wait("the listener to let it go", async () => (await local())?.deleted);
  await wait("its server to end", async () => (await version()) !== "one");
  await network.refuse();
  await moveTo(listener.id);
  await network.restore();
  await wait("the listener to serve it again", async () => (await version()) === "one");
  expect(await local()).toEqual({ deleted: false });
  await serving();
});

test("one whose rows and data have gone meanwhile is built anew", async () => {
  const revision = (await deploymentOf()).active_revision_id!;
  const elsewhere = await makeListener("elsewhere again");
  await moveTo(elsewhere.id);
  await wait("the listener to let it go", async () => (await local())?.deleted);
  // Half-open: nothing is refused, and nothing arrives.
  network.blackHole();
  const { sql } = site.databases.place.database;
  await raw`update deployments set purge_after = now() where id = ${id}`.execute(sql);
  await raw`select pg_notify('treadle_deployments', ${id})`.execute(sql);
  await wait("its rows to go", async () => (await local()) === undefined);
  await moveTo(listener.id);
  await network.restore();
  await wait("the listener to build it again", async () => (await statusAtPlace(revision)) === "DEPLOYED");
  await wait("the listener to serve it again", async () => (await version()) === "one");
  await wait("the platform to hear of it", async () => {
    const { active_revision_id, health } = await deploymentOf();
    return active_revision_id === revision && health.state === "serving";
  });
  expect((await revisionDone(site.calls, id, revision)).status).toBe("DEPLOYED");
});

test("a build that the move interrupted begins again", async () => {
  const patched = await site.call<Deployment>("PATCH", `/v2/deployments/${id}`, {
    source_config: { install_command: "node wait.js" },
  });
  const slow = patched.body.latest_revision_id!;
  await wait("the build to run", async () => (await statusAtPlace(slow)) === "BUILDING");
  const elsewhere = await makeListener("elsewhere for the build");
  await moveTo(elsewhere.id);
  await wait("the build to end", async () => (await statusAtPlace(slow)) === "INTERRUPTED");
  await network.refuse();
  await moveTo(listener.id);
  await network.restore();
  await wait("the build to run again", async () => (await statusAtPlace(slow)) === "BUILDING");
  expect((await site.call("POST", `/v2/deployments/${id}/revisions/${slow}/interruption`)).status).toBe(200);
  await wait("the build to end", async () => (await statusAtPlace(slow)) === "INTERRUPTED");
  expect((await revisionDone(site.calls, id, slow)).status).toBe("INTERRUPTED");
  await wait("what served before to serve again", async () => (await version()) === "one");
});

test("the listener knows which of its log lines the platform has", async () => {
  const cursor = async (of: "platform" | "place") => {
    const { rows } = await (of === "platform"
      ? raw<{ cursor: string }>`select log_cursor::text as cursor from listeners where id = ${listener.id}`
      : raw<{ cursor: string }>`select log_cursor::text as cursor from mirror_state`
    ).execute(site.databases[of].database.sql);
    return rows[0]?.cursor;
  };
  await wait("both to know the same", async () => {
    const [there, here] = [await cursor("platform"), await cursor("place")];
    return there === here && there !== "0";
  });
});

test("a process that was cut off does not undo what another one with its database followed", async () => {
  const { sql } = site.databases.platform.database;
  network.blackHole();
  await raw`update listeners set leased_until = now() where id = ${listener.id}`.execute(sql);
  const second = await site.startListener({
    ...{ id: listener.id, key: listener.key, port: await freePort(), folder: "second" },
    env: sharedKey,
  });
  const epochAtPlatform = async () => {
    const { rows } = await raw<{ epoch: string }>`
      select lease_epoch::text as epoch from listeners where id = ${listener.id}`.execute(sql);
    return rows[0]?.epoch;
  };
  const stateAtPlace = async () =>
    (
      await raw<{ desired_state: string; epoch: string }>`
        select d.desired_state, m.epoch::text as epoch from deployments d, mirror_state m where d.id = ${id}`.execute(
        site.databases.place.database.sql,
      )
    ).rows[0];
  expect((await site.call("POST", `/v2/deployments/${id}/stop`)).status).toBe(200);
  await wait("the second to follow", async () => (await stateAtPlace())?.desired_state === "stopped");
  await network.restore();
  await wait("the first to hear that it is not its turn", async () => {
    return first.stderr().includes("Another process acts for the listener");
  });
  expect(await stateAtPlace()).toEqual({ desired_state: "stopped", epoch: await epochAtPlatform() });
  await second.stop();
  expect((await site.call("POST", `/v2/deployments/${id}/start`)).status).toBe(200);
  await wait("the first to serve again", async () => (await version()) === "one");
});
