import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { readConfig } from "../../src/config/index.ts";
import { type DnsServer, startDnsServer } from "../support/components/dns-server.ts";
import { phone, type RunningConsole, startConsole } from "../support/console-page.ts";
import { askByHost } from "../support/host-request.ts";
import { emptyDeployment, type Made } from "../support/page-entry-site.ts";

vi.setConfig({ testTimeout: 60_000 });

const domain = "agent.example.com";
let dns: DnsServer;
let running: RunningConsole;
let made: Made;

beforeAll(async () => {
  dns = await startDnsServer();
  running = await startConsole({
    deployments: { ...readConfig({}).deployments, dnsServers: [dns.address] },
  });
  ({ body: made } = await running.app.call<Made>("POST", "/v2/deployments", {
    body: emptyDeployment("bot"),
  }));
});
afterEach(() => running?.closeAll());
afterAll(async () => {
  await running?.stop();
  await dns?.stop();
});

/** 503: the deployment, which serves nothing yet. */
const status = async () =>
  (await askByHost(running.url, domain, "/threads", { headers: { "x-api-key": running.app.apiKey } })).status;

it("adds a domain, shows its record, checks it and removes it, with the keyboard too", async () => {
  const page = await running.open(`/deployments/${made.id}?tab=settings`);
  const card = page.page.locator(".card", { has: page.page.getByRole("heading", { name: "Domains" }) });
  await card.getByLabel("Domain", { exact: true }).fill("https://agent.example.com");
  await card.getByLabel("Domain", { exact: true }).press("Enter");
  await card.getByText(/must be a host alone/).waitFor();
  await card.getByLabel("Domain", { exact: true }).fill("Agent.Example.com");
  await card.getByRole("button", { name: "Add domain" }).press("Enter");

  await card.getByText("Not verified", { exact: true }).waitFor();
  const name = `_treadle.${domain}`;
  await card.getByText(name, { exact: true }).waitFor();
  const value = (await card.getByText(/^treadle-domain=[0-9a-f]{32}$/).textContent())!;
  await card.getByText(/There is no TXT record/).waitFor();
  expect(await card.getByRole("button", { name: "Copy the value of the record" }).count()).toBe(1);
  expect(await page.violations()).toEqual([]);
  if (process.env.TEST_SCREENSHOTS)
    await card.screenshot({ path: `${process.env.TEST_SCREENSHOTS}/pending.png` });

  dns.records.set(name, ["treadle-domain=of another"]);
  await card.getByRole("button", { name: "Check now" }).press("Enter");
  await card.getByText(/is for another deployment/).waitFor();
  dns.records.set(name, [value]);
  await card.getByRole("button", { name: "Check now" }).press("Enter");
  await card.getByText("Verified", { exact: true }).waitFor();
  expect(await card.getByRole("link", { name: domain }).getAttribute("href")).toMatch(
    /^http:\/\/agent\.example\.com:/,
  );
  expect(await status()).toBe(503);
  if (process.env.TEST_SCREENSHOTS)
    await card.screenshot({ path: `${process.env.TEST_SCREENSHOTS}/verified.png` });

  await card.getByRole("button", { name: `Remove ${domain}` }).press("Enter");
  await page.text(/stop working at once/).waitFor();
  await page.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await card.getByRole("link", { name: domain }).waitFor({ state: "detached" });
  expect(await status()).not.toBe(503);
  expect(page.errors).toEqual([]);
});

it("fits a phone in the dark, and a viewer changes nothing", async () => {
  const place = `/v2/deployments/${made.id}/domains`;
  const long = `${"a-long-name-".repeat(4)}x.agents-of-somebody.example.com`;
  expect((await running.app.call("POST", place, { body: { domain: long } })).status).toBe(201);
  const { body: viewer } = await running.app.call<{ key: string }>("POST", "/v2/api-keys", {
    body: { name: "viewer", role: "viewer" },
  });
  const page = await running.open(`/deployments/${made.id}?tab=settings`, {
    ...{ viewport: phone, colorScheme: "dark", apiKey: viewer.key },
  });
  await page.text(long).waitFor();
  expect(await page.overflowing()).toEqual([]);
  expect(await page.violations()).toEqual([]);
  expect(await page.button("Check now").isDisabled()).toBe(true);
  expect(await page.button("Add domain").isDisabled()).toBe(true);
  if (process.env.TEST_SCREENSHOTS) {
    const card = page.page.locator(".card", { has: page.page.getByRole("heading", { name: "Domains" }) });
    await card.screenshot({ path: `${process.env.TEST_SCREENSHOTS}/phone.png` });
  }
});
