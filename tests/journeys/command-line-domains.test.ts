import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DnsServer, startDnsServer } from "../support/components/dns-server.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createClient, type TreadleClient } from "../support/treadle-client.ts";

type DomainBody = { state: string; url: string; record: { name: string; value: string } };

let dns: DnsServer;
let plane: ControlPlaneServer;
let folder: TempFolder;
let database: TestDatabase;
let client: TreadleClient;

beforeAll(async () => {
  dns = await startDnsServer();
  database = await createTestDatabase();
  folder = await createTempFolder("command-line-domains");
  plane = await startControlPlane({
    ...{ databaseUrl: database.url, folder: join(folder.path, "data") },
    settings: { dnsServers: [dns.address] },
  });
  const source = { source: "internal_source", source_config: {}, source_revision_config: {} };
  await plane.call("POST", "/v2/deployments", { name: "bot", ...source });
  client = createClient(folder.path, {
    TREADLE_URL: plane.url,
    TREADLE_API_KEY: plane.apiKey,
    TREADLE_WORKSPACE_ID: plane.workspaceId,
  });
});
afterAll(async () => {
  await plane?.stop();
  await database?.drop();
  await folder?.remove();
  await dns?.stop();
});

test("a domain is added, proved, listed and removed", { timeout: 120_000 }, async () => {
  const command = (...words: string[]) => client.run(["deployments", "domains", ...words]);
  const none = await command("list", "bot");
  expect([none.code, none.stdout]).toEqual([0, expect.stringContaining("bot has no domains")]);
  const wrong = await command("add", "bot", "https://agent.example.com/");
  expect([wrong.code === 0, wrong.stderr]).toEqual([false, expect.stringContaining("a host alone")]);

  const added = await command("add", "bot", "agent.example.com");
  expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining("_treadle.agent.example.com") });
  const early = await command("verify", "bot", "agent.example.com");
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining("There is no TXT record")]);

  const [pending] = await client.json<DomainBody[]>(["deployments", "domains", "list", "bot"]);
  expect(pending).toMatchObject({ state: "pending" });
  dns.records.set(pending!.record.name, [pending!.record.value]);
  const verified = await command("verify", "bot", "agent.example.com");
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining(`served at ${pending!.url}`) });
  const shown = await client.run(["deployments", "get", "bot"]);
  expect(shown.stdout).toMatch(new RegExp(`Domains\\s+${pending!.url}`));

  const removed = await command("remove", "bot", "agent.example.com");
  expect(removed).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("not served at agent.example.com"),
  });
  expect(await client.json<DomainBody[]>(["deployments", "domains", "list", "bot"])).toEqual([]);
  expect((await command("remove", "bot", "agent.example.com")).code).not.toBe(0);
});
