import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type DnsServer, startDnsServer } from "../../../tests/support/components/dns-server.ts";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { askByHost } from "../../../tests/support/host-request.ts";
import { raw } from "../../platform/db/raw.ts";

type DomainBody = {
  domain: string;
  state: string;
  url: string;
  record: { type: string; name: string; value: string };
  problem: { code: string; message: string } | null;
  verified_at: string | null;
  expires_at: string | null;
};
type Made = { id: string; slug: string; domain_urls: string[] };

let plane: ControlPlaneServer;
let unchecked: ControlPlaneServer;
let dns: DnsServer;
let folders: TempFolder[];
let databases: TestDatabase[];
let bot: Made;
let stranger: Made & { headers: Record<string, string> };

beforeAll(async () => {
  dns = await startDnsServer();
  folders = [await createTempFolder("domains"), await createTempFolder("domains-unchecked")];
  databases = [await createTestDatabase(), await createTestDatabase()];
  plane = await startControlPlane({
    databaseUrl: databases[0]!.url,
    folder: folders[0]!.path,
    deploymentsUrl: "http://{slug}.agents.example.com",
    settings: { dnsServers: [dns.address] },
  });
  unchecked = await startControlPlane({
    databaseUrl: databases[1]!.url,
    folder: folders[1]!.path,
    settings: { domainCheck: "none" },
  });
});
afterAll(async () => {
  await plane?.stop();
  await unchecked?.stop();
  await Promise.all([...(databases ?? []).map((each) => each.drop()), dns?.stop()]);
  await Promise.all((folders ?? []).map((each) => each.remove()));
});

const make = async (on: ControlPlaneServer, headers: Record<string, string> = {}) => {
  const body = {
    ...{ name: `bot-${randomUUID()}`, source: "internal_source", source_config: {} },
    source_revision_config: {},
  };
  const made = await on.call<Made>("POST", "/v2/deployments", body, headers);
  expect(made.status).toBe(201);
  return made.body;
};
const elsewhere = async (on: ControlPlaneServer) => {
  const { body } = await on.call<{ id: string }>("POST", "/v2/workspaces", { name: randomUUID() });
  return { "x-tenant-id": body.id };
};

beforeEach(async () => {
  dns.records.clear();
  dns.mood = "answers";
  await raw`delete from domain_checks`.execute(plane.database.sql);
  bot = await make(plane);
  const headers = await elsewhere(plane);
  stranger = { ...(await make(plane, headers)), headers };
});

const place = (id: string) => `/v2/deployments/${id}/domains`;
const newHost = () => `agent-${randomUUID()}.example.com`;
const add = (id: string, domain: unknown, headers = {}, on = plane) =>
  on.call<DomainBody>("POST", place(id), { domain }, headers);
const verify = (id: string, domain: string, headers = {}) =>
  plane.call<DomainBody>("POST", `${place(id)}/${domain}/verify`, undefined, headers);
const remove = (id: string, domain: string, headers = {}) =>
  plane.call("DELETE", `${place(id)}/${domain}`, undefined, headers);
const list = async (id: string, headers = {}) =>
  (await plane.call<{ resources: DomainBody[] }>("GET", place(id), undefined, headers)).body.resources;
const publish = ({ record }: DomainBody) =>
  dns.records.set(record.name, [...(dns.records.get(record.name) ?? []), record.value]);
/** Whether a host leads to a deployment (which serves nothing: 503), or to none, so that the platform answers. */
const leads = async (domain: string, on = plane) => {
  const headers = { "x-api-key": on.apiKey, "x-tenant-id": on.workspaceId };
  const { status } = await askByHost(on.url, domain, "/v2/deployments", { headers });
  expect([200, 404, 503]).toContain(status);
  return status !== 200;
};
const asked = async (domain: string) =>
  (await fetch(`${plane.url}/v2/domains/ask?domain=${encodeURIComponent(domain)}`)).status;

/** One that is served. */
async function verified(): Promise<string> {
  const domain = newHost();
  const { body } = await add(bot.id, domain);
  publish(body);
  expect((await verify(bot.id, domain)).body.state).toBe("verified");
  return domain;
}

describe("201", () => {
  it("adds a domain that serves nothing until its record is found", async () => {
    const domain = newHost();
    const { status, body } = await add(bot.id, ` ${domain.toUpperCase()}. `);
    expect([status, body]).toEqual([
      201,
      {
        ...{ domain, state: "pending", url: `http://${domain}:${new URL(plane.url).port}` },
        record: { type: "TXT", name: `_treadle.${domain}`, value: expect.stringMatching(/^treadle-domain=/) },
        problem: { code: "record_missing", message: expect.stringContaining(body.record.value) },
        ...{ checked_at: expect.any(String), verified_at: null, missing_since: null },
        created_at: expect.any(String),
        expires_at: expect.any(String),
      },
    ]);
    const days = (Date.parse(body.expires_at!) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(7);
    expect([await leads(domain), await asked(domain)]).toEqual([false, 404]);
  });

  it("verifies at once when the record is there", async () => {
    const [first, second] = [newHost(), newHost()];
    const { record } = (await add(bot.id, first)).body;
    dns.records.set(`_treadle.${second}`, ["v=spf1 -all", record.value]);
    const { body } = await add(bot.id, second);
    expect(body).toMatchObject({ state: "verified", problem: null, expires_at: null });
    expect([await leads(second), await asked(second)]).toEqual([true, 200]);
  });

  it("keeps it when DNS does not answer", async () => {
    dns.mood = "fails";
    const { status, body } = await add(bot.id, newHost());
    expect([status, body.state, body.problem?.code]).toEqual([201, "pending", "dns_failed"]);
  });

  it("serves it without a record where the operator has turned the check off", async () => {
    const mine = await make(unchecked);
    const domain = newHost();
    expect((await add(mine.id, domain, {}, unchecked)).body).toMatchObject({ state: "verified" });
    expect(await leads(domain, unchecked)).toBe(true);
    // The first deployment has it, and no other can take it.
    const headers = await elsewhere(unchecked);
    const theirs = await make(unchecked, headers);
    const second = await add(theirs.id, domain, headers, unchecked);
    expect([second.status, JSON.stringify(second.body)]).toEqual([409, expect.stringContaining(domain)]);
    expect((await unchecked.call("DELETE", `${place(mine.id)}/${domain}`)).status).toBe(204);
    expect((await add(theirs.id, domain, headers, unchecked)).body).toMatchObject({ state: "verified" });
  });
});

describe("200", () => {
  it("verifies when the record is there, and tells it everywhere", async () => {
    const domain = newHost();
    const { body: added } = await add(bot.id, domain);
    expect((await verify(bot.id, domain)).body.problem?.code).toBe("record_missing");
    dns.records.set(added.record.name, ["treadle-domain=of another"]);
    expect((await verify(bot.id, domain)).body.problem?.code).toBe("record_other");
    publish(added);
    const { status, body } = await verify(bot.id, domain);
    expect([status, body.state, body.problem, body.expires_at]).toEqual([200, "verified", null, null]);
    expect([await leads(domain), await asked(domain), await asked(`${domain}.`)]).toEqual([true, 200, 200]);
    const deployment = await plane.call<Made>("GET", `/v2/deployments/${bot.id}`);
    expect(deployment.body.domain_urls).toEqual([body.url]);
    expect(await list(bot.id)).toEqual([body]);
    // It stays without the record when a person looks, and says so.
    dns.records.clear();
    expect((await verify(bot.id, domain)).body).toMatchObject({
      state: "verified",
      problem: { code: "record_missing", message: expect.stringContaining("not there any more") },
      missing_since: expect.any(String),
    });
    publish(added);
    expect((await verify(bot.id, domain)).body).toMatchObject({ problem: null, missing_since: null });
  });
});

describe("204", () => {
  it("removes a domain, and serves nothing there at once", async () => {
    const domain = await verified();
    expect(await leads(domain)).toBe(true);
    expect((await remove(bot.id, domain)).status).toBe(204);
    expect([await leads(domain), await asked(domain), await list(bot.id)]).toEqual([false, 404, []]);
    expect((await remove(bot.id, domain)).status).toBe(404);
  });

  it("a deployment that is deleted releases its domains", async () => {
    const domain = await verified();
    expect((await plane.call("DELETE", `/v2/deployments/${bot.id}`)).status).toBe(204);
    await waitUntil(async () => (await asked(domain)) === 404, {
      timeoutMs: 5_000,
      what: "the domain to be free",
    });
    expect(await leads(domain)).toBe(false);
    const next = await make(plane);
    publish((await add(next.id, domain)).body);
    expect((await verify(next.id, domain)).body.state).toBe("verified");
  });
});

describe("400, 404, 409 and 422", () => {
  it("422: what is no host of the Internet, or a host of the installation", async () => {
    const wrong = [
      "localhost",
      "127.0.0.1",
      "[::1]",
      "x.localhost",
      "*.example.com",
      "https://a.example.com",
    ];
    for (const domain of [
      ...wrong,
      "agents.example.com",
      `${bot.slug}.agents.example.com`,
      "a.example.com:80",
      7,
    ]) {
      const { status, body } = await add(bot.id, domain);
      expect([domain, status, JSON.stringify(body)]).toEqual([
        domain,
        422,
        expect.stringContaining("domain"),
      ]);
    }
    expect(await list(bot.id)).toEqual([]);
  });

  it("409: one it has already; 404: one it has not", async () => {
    const domain = newHost();
    await add(bot.id, domain);
    expect((await add(bot.id, domain)).status).toBe(409);
    expect((await verify(bot.id, newHost())).status).toBe(404);
    expect((await verify(bot.id, "no%20host")).status).toBe(404);
    expect((await remove(bot.id, newHost())).status).toBe(404);
  });

  it("400: more than twenty, and any of a preview", async () => {
    for (let count = 0; count < 20; count += 1) expect((await add(bot.id, newHost())).status).toBe(201);
    expect((await add(bot.id, newHost())).status).toBe(400);
    const preview = await make(plane);
    await raw`update deployments set preview_of = ${bot.id}, preview_number = 1 where id = ${preview.id}`.execute(
      plane.database.sql,
    );
    expect((await add(preview.id, newHost())).status).toBe(400);
  });
});

describe("429", () => {
  it("more than thirty checks of a workspace in a minute, and how long to wait", async () => {
    const domain = newHost();
    await add(bot.id, domain);
    for (let count = 1; count < 30; count += 1) expect((await verify(bot.id, domain)).status).toBe(200);
    const asked = dns.asked.length;
    const refused = await verify(bot.id, domain);
    expect([refused.status, refused.body]).toEqual([429, { detail: expect.stringContaining("30 domains") }]);
    const seconds = Number(refused.headers.get("retry-after"));
    expect([seconds > 0, seconds <= 60]).toEqual([true, true]);
    // Adding asks DNS too. What is refused is not stored, and DNS is not asked.
    expect([(await add(bot.id, newHost())).status, (await list(bot.id)).length]).toEqual([429, 1]);
    expect(dns.asked.length).toBe(asked);
    // Another workspace has its own count, and the minute ends.
    expect((await add(stranger.id, newHost(), stranger.headers)).status).toBe(201);
    await raw`update domain_checks set ends_at = now()`.execute(plane.database.sql);
    expect((await verify(bot.id, domain)).status).toBe(200);
  });
});

describe("another workspace", () => {
  it("404: sees, checks and removes nothing", async () => {
    const domain = await verified();
    for (const { status } of [
      await plane.call("GET", place(bot.id), undefined, stranger.headers),
      await add(bot.id, newHost(), stranger.headers),
      await verify(bot.id, domain, stranger.headers),
      await remove(bot.id, domain, stranger.headers),
      await remove(stranger.id, domain, stranger.headers),
    ])
      expect(status).toBe(404);
    expect(await leads(domain)).toBe(true);
  });

  it("cannot keep a domain from its owner by asking for it first", async () => {
    const domain = newHost();
    expect((await add(stranger.id, domain, stranger.headers)).body.state).toBe("pending");
    publish((await add(bot.id, domain)).body);
    expect((await verify(stranger.id, domain, stranger.headers)).body).toMatchObject({
      state: "pending",
      problem: { code: "record_other" },
    });
    expect((await verify(bot.id, domain)).body.state).toBe("verified");
    expect((await verify(stranger.id, domain, stranger.headers)).body.state).toBe("pending");
  });

  it("cannot take a domain while its owner's record is there; whoever publishes a proof later can", async () => {
    const domain = await verified();
    const { body: claim } = await add(stranger.id, domain, stranger.headers);
    expect(claim.state).toBe("pending");
    publish(claim);
    expect((await verify(stranger.id, domain, stranger.headers)).body.problem?.code).toBe(
      "claimed_elsewhere",
    );
    expect(await list(bot.id)).toMatchObject([{ state: "verified" }]);
    dns.records.set(claim.record.name, [claim.record.value]);
    expect((await verify(stranger.id, domain, stranger.headers)).body.state).toBe("verified");
    expect(await list(bot.id)).toMatchObject([{ state: "pending", problem: { code: "claimed_elsewhere" } }]);
  });

  it("two who prove one domain at once: one has it", async () => {
    const domain = newHost();
    const [mine, theirs] = [await add(bot.id, domain), await add(stranger.id, domain, stranger.headers)];
    publish(mine.body);
    publish(theirs.body);
    const states = await Promise.all([
      verify(bot.id, domain),
      verify(stranger.id, domain, stranger.headers),
      verify(bot.id, domain),
    ]);
    const [a, b] = [await list(bot.id), await list(stranger.id, stranger.headers)];
    expect(states.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect([a[0]!.state, b[0]!.state].sort()).toEqual(["pending", "verified"]);
  });
});

describe("a domain that nobody has proved", () => {
  it("is gone after its days, and may be added again", async () => {
    const domain = newHost();
    const { body } = await add(bot.id, domain);
    const expire = () =>
      raw`update deployment_domains set expires_at = now() - interval '1 second' where domain = ${domain}`.execute(
        plane.database.sql,
      );
    await expire();
    publish(body);
    expect([await list(bot.id), (await verify(bot.id, domain)).status]).toEqual([[], 404]);
    expect((await add(bot.id, domain)).status).toBe(201);
    await raw`update deployment_domains set verified_at = null where domain = ${domain}`.execute(
      plane.database.sql,
    );
    await expire();
    const job = plane.recurringJobs.find(({ kind }) => kind === "control_plane.maintain")!;
    await job.handler({ payload: {}, signal: new AbortController().signal } as never);
    const { rows } = await raw`select 1 from deployment_domains where domain = ${domain}`.execute(
      plane.database.sql,
    );
    expect(rows).toEqual([]);
  });
});
