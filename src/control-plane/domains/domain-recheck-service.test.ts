import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type DnsServer, startDnsServer } from "../../../tests/support/components/dns-server.ts";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Verified domains are checked again by a job of the queue, with a real DNS server. */
type DomainBody = {
  domain: string;
  state: string;
  record: { name: string; value: string };
  problem: { code: string; message: string } | null;
  missing_since: string | null;
  expires_at: string | null;
};

let plane: ControlPlaneServer;
let dns: DnsServer;
let folder: TempFolder;
let database: TestDatabase;
let deploymentId: string;
let domain: DomainBody;

beforeAll(async () => {
  dns = await startDnsServer();
  folder = await createTempFolder("rechecks");
  database = await createTestDatabase();
  plane = await startControlPlane({
    databaseUrl: database.url,
    folder: folder.path,
    settings: { dnsServers: [dns.address] },
  });
});
afterAll(async () => {
  await plane?.stop();
  await database?.drop();
  await dns?.stop();
  await folder?.remove();
});

beforeEach(async () => {
  dns.records.clear();
  dns.mood = "answers";
  await raw`delete from deployment_domains`.execute(plane.database.sql);
  const made = await plane.call<{ id: string }>("POST", "/v2/deployments", {
    ...{ name: `bot-${randomUUID()}`, source: "internal_source", source_config: {} },
    source_revision_config: {},
  });
  deploymentId = made.body.id;
  const host = `agent-${randomUUID()}.example.com`;
  const added = await plane.call<DomainBody>("POST", place(), { domain: host });
  domain = added.body;
  dns.records.set(domain.record.name, [domain.record.value]);
  expect((await plane.call<DomainBody>("POST", `${place()}/${host}/verify`)).body.state).toBe("verified");
});

const place = () => `/v2/deployments/${deploymentId}/domains`;
const read = async () =>
  (await plane.call<{ resources: DomainBody[] }>("GET", place())).body.resources.find(
    (each) => each.domain === domain.domain,
  )!;
const asked = async () => (await fetch(`${plane.url}/v2/domains/ask?domain=${domain.domain}`)).status;
const job = () => plane.recurringJobs.find(({ kind }) => kind === "control_plane.maintain")!;
const look = () => job().handler({ payload: {}, signal: new AbortController().signal } as never);
const jobs = async () =>
  (
    await raw<{ status: string }>`
    select status from jobs where kind = 'control_plane.recheck_domains' order by created_at`.execute(
      plane.database.sql,
    )
  ).rows.map(({ status }) => status);

/** Makes it due, with what was missed before, and waits until the job has checked it. */
async function recheck(missed?: { checks: number; hours: number }): Promise<void> {
  await raw`update deployment_domains set next_check_at = now() - interval '1 second'`.execute(
    plane.database.sql,
  );
  if (missed)
    await raw`update deployment_domains set missed_checks = ${missed.checks},
      missing_since = now() - make_interval(hours => ${missed.hours})`.execute(plane.database.sql);
  await look();
  await waitUntil(
    async () => {
      const { rows } = await raw`
        select 1 from deployment_domains where verified_at is not null and next_check_at < now()`.execute(
        plane.database.sql,
      );
      return rows.length === 0 && !(await jobs()).some((status) => status !== "succeeded");
    },
    { timeoutMs: 10_000, what: "the job to have checked the domain" },
  );
}

it("does nothing while no check is due", async () => {
  const before = [dns.asked.length, (await jobs()).length];
  await look();
  await raw`delete from deployment_domains`.execute(plane.database.sql);
  await look();
  expect([dns.asked.length, (await jobs()).length]).toEqual(before);
});

it("keeps a domain whose proof is there, and forgets what was missed", async () => {
  await recheck({ checks: 9, hours: 90 });
  expect(await read()).toMatchObject({ state: "verified", problem: null, missing_since: null });
  const { rows } = await raw<{ hours: number }>`
    select extract(epoch from next_check_at - now())::float8 / 3600 as hours from deployment_domains`.execute(
    plane.database.sql,
  );
  expect([rows[0]!.hours > 4.4, rows[0]!.hours < 7.6]).toEqual([true, true]);
});

it("warns while the proof is missing, and serves the domain", async () => {
  dns.records.clear();
  await recheck();
  expect(await read()).toMatchObject({
    state: "verified",
    problem: { code: "record_missing", message: expect.stringContaining(domain.record.value) },
    missing_since: expect.any(String),
  });
  await recheck({ checks: 9, hours: 23 });
  await recheck({ checks: 2, hours: 90 });
  expect([(await read()).state, await asked()]).toEqual(["verified", 200]);
});

it.each(["answers", "fails"] as const)("a person who looks puts no check off (DNS %s)", async (mood) => {
  dns.records.clear();
  dns.mood = mood;
  const { rows: before } = await raw<{ next_check_at: Date }>`
    update deployment_domains set next_check_at = now() + interval '1 minute' returning next_check_at`.execute(
    plane.database.sql,
  );
  const looked = await plane.call<DomainBody>("POST", `${place()}/${domain.domain}/verify`);
  expect([looked.status, looked.body.state]).toEqual([200, "verified"]);
  const { rows } = await raw`select next_check_at from deployment_domains`.execute(plane.database.sql);
  expect(rows).toEqual(before);
});

it("ends the verification when the proof is missing for a day, with an event", async () => {
  dns.records.set(domain.record.name, ["treadle-domain=of another"]);
  await recheck({ checks: 3, hours: 24 });
  expect(await read()).toMatchObject({
    state: "pending",
    problem: { code: "record_gone", message: expect.stringContaining("more than a day") },
    ...{ missing_since: null, expires_at: expect.any(String) },
  });
  expect(await asked()).toBe(404);
  const { rows } = await raw`
    select workspace_id, actor_kind, outcome, target_kind, target_id, details from audit_events
    where action = 'deployment.domain_lost' and target_id = ${deploymentId}`.execute(plane.database.sql);
  expect(rows).toEqual([
    {
      ...{ workspace_id: plane.workspaceId, actor_kind: "system", outcome: "done" },
      ...{ target_kind: "deployment", target_id: deploymentId },
      details: { domain: domain.domain, reason: "record_gone" },
    },
  ]);
  // The record is back: one check, and it is served again.
  dns.records.set(domain.record.name, [domain.record.value]);
  const again = await plane.call<DomainBody>("POST", `${place()}/${domain.domain}/verify`);
  expect([again.body.state, await asked()]).toEqual(["verified", 200]);
});

it("takes nothing from a domain because DNS does not answer", async () => {
  dns.mood = "fails";
  await recheck({ checks: 9, hours: 90 });
  expect([(await read()).state, await asked()]).toEqual(["verified", 200]);
});
