import { readFile } from "node:fs/promises";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import type { Download } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import type { CephRgw } from "../support/components/ceph-rgw.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type ConsolePage, phone, type RunningConsole, startConsole } from "../support/console-page.ts";
import { createBucket, deleteObject, downloadExport } from "../support/exported-files.ts";
import { manyRuns, storedRun, storeRuns } from "../support/exported-runs.ts";
import { useCephRgw } from "../support/shared-ceph.ts";

// A real browser and a real storage, on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

let running: RunningConsole;
let rgw: CephRgw;
const day = "2026-05-05";
beforeAll(async () => {
  [rgw, running] = await Promise.all([useCephRgw(), startConsole()]);
  await createBucket(rgw, "lake");
}, 240_000);
afterEach(() => running?.closeAll());
afterAll(async () => {
  await running?.stop();
  await rgw?.stop();
});

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await running.app.call<T>(method, path, body === undefined ? {} : { body });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function newProject(name: string): Promise<string> {
  const { id } = await call<{ id: string }>("POST", "/api/v1/sessions", { name });
  const place = { workspaceId: running.app.workspaceId, projectId: id };
  await storeRuns(running.app.database.sql, place, [
    ...manyRuns(40, day, "words ".repeat(20)),
    storedRun(`${day}T13:00:00.000000Z`, { status: "error", error: "It broke." }),
  ]);
  return id;
}

let count = 0;
const newDestination = async (bucket = "lake") =>
  (
    await call<{ id: string }>("POST", "/api/v1/bulk-exports/destinations", {
      display_name: `Lake ${++count}`,
      config: { bucket_name: bucket, prefix: "traces", endpoint_url: rgw.endpoint },
      credentials: { access_key_id: rgw.accessKey, secret_access_key: rgw.secretKey },
    })
  ).id;

const window = { start_time: `${day}T00:00:00Z`, end_time: "2026-05-08T00:00:00Z" };
const newExport = async (project: string, more: Record<string, unknown> = {}) =>
  call<{ id: string }>("POST", "/api/v1/bulk-exports", {
    bulk_export_destination_id: await newDestination(),
    session_id: project,
    ...window,
    ...more,
  });

type ExportFile = { key: string; uri: string; bytes: number };
const filesOf = async (id: string) =>
  (await call<{ files: ExportFile[] }>("GET", `/api/v1/bulk-exports/${id}/files`)).files;

/** It may begin in the tab that was opened for it. */
function downloadIn({ page }: ConsolePage): Promise<Download> {
  return new Promise((resolve) => {
    page.on("download", resolve);
    page.context().on("page", (other) => other.on("download", resolve));
  });
}

async function expectFine(page: ConsolePage): Promise<void> {
  expect(await page.violations()).toEqual([]);
  expect(page.errors).toEqual([]);
}

describe("destinations", () => {
  it("are refused at the field that is wrong, in the storage's own words, and kept once they work", async () => {
    const page = await running.open("/exports/destinations");
    await page.text("No destination yet").waitFor();
    await expectFine(page);
    await page.link("New destination").first().click();
    await page.field(/^Bucket/).fill("s3://lake");
    await page.text("The name alone, without s3://.").waitFor();
    await page.field("Endpoint").fill("storage");
    await page.text("It starts with https:// or http://.").waitFor();

    await page.field("Name").first().fill("Data lake");
    await page.field(/^Bucket/).fill("no-such-bucket");
    await page.field("Prefix").fill("traces");
    await page.field("Endpoint").fill(rgw.endpoint);
    await page.field("Access key ID").fill(rgw.accessKey);
    await page.field("Secret access key").fill("wrong");
    await page.button("Try and keep").click();
    await page.text(/The secret access key is wrong/).waitFor();
    expect(await page.field("Secret access key").getAttribute("aria-invalid")).toBe("true");
    await expectFine(page);

    await page.field("Secret access key").fill(rgw.secretKey);
    await page.button("Try and keep").click();
    await page.text(/The bucket no-such-bucket does not exist/).waitFor();
    expect(await page.field(/^Bucket/).getAttribute("aria-invalid")).toBe("true");

    await page.field(/^Bucket/).fill("lake");
    await page.button("Try and keep").click();
    await page.page.getByRole("cell", { name: "lake/traces" }).waitFor();
    await expectFine(page);
  });

  it("get new credentials only when these work, and are deleted after their name was typed", async () => {
    await newDestination();
    const name = `Lake ${count}`;
    const page = await running.open("/exports/destinations");
    await page.button(`Change the credentials of ${name}`).click();
    await page.field("Access key ID").fill("NOBODY");
    await page.field("Secret access key").fill("nothing");
    await page.button("Try and keep").click();
    await page.text(/The access key id does not exist/).waitFor();
    await expectFine(page);
    await page.field("Access key ID").fill(rgw.accessKey);
    await page.field("Secret access key").fill(rgw.secretKey);
    await page.button("Try and keep").click();
    await page.text("has new credentials. They work.").waitFor();

    await page.button(`Delete ${name}`).click();
    expect(await page.button(/^Delete$/).isDisabled()).toBe(true);
    await page.field(/to confirm/).fill(name);
    await page.button(/^Delete$/).click();
    await page.page.getByRole("cell", { name, exact: true }).waitFor({ state: "detached" });
    await expectFine(page);
  });
});

describe("an export", () => {
  it("is previewed, created, followed to its end, and its snippet reads what it wrote", async () => {
    const project = await newProject("shop");
    await newDestination();
    const page = await running.open("/exports/new");
    await page.field("Project").selectOption({ label: "shop" });
    await page.field("From (UTC)").fill("2026-05-05T00:00");
    await page.field("To (UTC)").fill("2026-05-01T00:00");
    await page.button("Export").click();
    await page.text("The end must come after the start.").waitFor();
    await page.field("To (UTC)").fill("2026-05-08T00:00");
    await page.page.getByRole("status").filter({ hasText: "41 runs" }).waitFor();
    await page.field("Filter").fill("eq(nonsense, 1)");
    await page.page.locator(".field-error").first().waitFor();
    await page.field("Filter").fill('eq(status, "error")');
    await page.page.getByRole("status").filter({ hasText: "1 run" }).waitFor();
    await page.field("Filter").fill("eq(sta");
    await page.button("status").first().click();
    expect(await page.field("Filter").inputValue()).toContain("status");
    await page.field("Filter").fill("");
    await page.page.getByRole("status").filter({ hasText: "41 runs" }).waitFor();
    await expectFine(page);
    await page.button("Export").click();

    await page.heading("shop").waitFor();
    await page.text("Completed").waitFor();
    const id = page.path.split("/").at(-1)!;
    await page.page.getByRole("table", { name: "Days" }).getByText("2026-05-05", { exact: true }).waitFor();
    expect(await page.page.getByRole("table", { name: "Days" }).getByRole("row").count()).toBe(2);
    await page.page.getByLabel("Also the 2 days without runs").check();
    expect(await page.page.getByRole("table", { name: "Days" }).getByRole("row").count()).toBe(4);
    await page.button("1 file").click();
    await page.page.getByRole("heading", { name: "Files of 2026-05-05" }).waitFor();
    const { uri } = (await filesOf(id))[0]!;
    expect(uri).toMatch(`s3://lake/traces/export_id=${id}/tenant_id=${running.app.workspaceId}/`);
    expect(uri).toContain(`/session_id=${project}/`);
    await page.page.getByTitle(uri).waitFor();
    await expectFine(page);

    // The query as shown, over the same files: DuckDB's own S3 client is not part of it here.
    const snippet = await page.page.locator(".copy-block pre").innerText();
    expect(snippet).toContain(`s3://lake/traces/export_id=${id}/**/*.parquet`);
    const files = await downloadExport(rgw, "lake", id, "traces");
    const select = /select[\s\S]+$/
      .exec(snippet)![0]
      .replace(/read_parquet\([^)]*\)/, "FILES")
      .replace(";", "");
    const found = await files.query((all) => select.replace("FILES", all));
    expect(found).toHaveLength(20);
    await files.remove();
  });

  it("gives its single files: their paths to copy, and a link that downloads each", async () => {
    const { id } = await newExport(await newProject("files"));
    const page = await running.open(`/exports/${id}`, { permissions: ["clipboard-read", "clipboard-write"] });
    const table = page.page.getByRole("table", { name: "Files" });
    await table.getByText("part-00000.parquet").waitFor();
    const [file] = await filesOf(id);
    expect(await table.getByRole("row").last().innerText()).toMatch(/2026-05-05[\s\S]+41[\s\S]+KB/);
    await page.button("Copy path of 2026-05-05 part-00000.parquet").click();
    expect(await page.page.evaluate("navigator.clipboard.readText()")).toBe(file!.uri);

    const [download] = await Promise.all([
      downloadIn(page),
      page.button("Download 2026-05-05 part-00000.parquet").click(),
    ]);
    expect(download.suggestedFilename()).toBe("2026-05-05-part-00000.parquet");
    const content = await readFile(await download.path());
    expect(content).toHaveLength(file!.bytes);
    const bytes = content.buffer.slice(
      content.byteOffset,
      content.byteOffset + content.length,
    ) as ArrayBuffer;
    expect(await parquetReadObjects({ file: bytes, compressors })).toHaveLength(41);
    expect(new URL(download.url()).origin).toBe(rgw.endpoint);
    expect(page.path).toBe(`/exports/${id}`);
    await expectFine(page);

    await deleteObject(rgw, "lake", file!.key);
    await page.button("Download 2026-05-05 part-00000.parquet").click();
    await page.text(`${file!.uri} is not in the bucket any more.`).waitFor();
    await expectFine(page);
  });

  it("of many files shows them in pages", async () => {
    const { id } = await newExport(await newProject("many files"));
    await waitUntil(async () => (await filesOf(id)).length === 1, { what: "the file", timeoutMs: 60_000 });
    // As a day has them that was written in many files.
    await raw`update bulk_export_runs set files = (select jsonb_agg(files->0 || jsonb_build_object('path',
        replace(files->0->>'path', '00000', to_char(n, 'FM00000')))) from generate_series(0, 249) n)
      where bulk_export_id = ${id} and files <> '[]'`.execute(running.app.database.sql);
    const page = await running.open(`/exports/${id}`);
    const rows = page.page.getByRole("table", { name: "Files" }).getByRole("row");
    await rows.nth(100).waitFor();
    expect(await rows.count()).toBe(101);
    await page.button("Show more files").click();
    await rows.nth(200).waitFor();
    await page.button("Show more files").click();
    await page.text("part-00249.parquet").waitFor();
    expect(await page.button("Show more files").count()).toBe(0);
    await expectFine(page);
  });

  it("that fails says why and what to do", async () => {
    const project = await newProject("broken");
    const user = await rgw.createUser();
    await createBucket({ ...rgw, ...user }, "short-lived");
    const destination = await call<{ id: string }>("POST", "/api/v1/bulk-exports/destinations", {
      display_name: "Short lived",
      config: { bucket_name: "short-lived", endpoint_url: rgw.endpoint },
      credentials: { access_key_id: user.accessKey, secret_access_key: user.secretKey },
    });
    await rgw.suspendUser(user.uid);
    const { id } = await newExport(project, { bulk_export_destination_id: destination.id });
    const page = await running.open(`/exports/${id}`);
    await page.text(/no permission to write to the bucket short-lived/).waitFor();
    await page.text("Give the destination working credentials, then export again.").waitFor();
    await page.text("1 attempt failed").waitFor();
    const days = await call<{ status: string }[]>("GET", `/api/v1/bulk-exports/${id}/runs`);
    const written = days.filter(({ status }) => status === "COMPLETED").length;
    expect([written < 3, days.length]).toEqual([true, 3]);
    await page.page.locator(".written").getByText(`${written} of 3`).waitFor();
    await expectFine(page);
    await page.link("Export again").click();
    await page.heading("New export").waitFor();
    // The list of projects comes after the form.
    await expect.poll(() => page.field("Project").inputValue(), { timeout: 30_000 }).toBe(project);
    expect(await page.field("From (UTC)").inputValue()).toBe("2026-05-05T00:00");
    expect(await page.field("To (UTC)").inputValue()).toBe("2026-05-08T00:00");
  });

  it("on a schedule lists what it has made, live, and is stopped after a question", async () => {
    const project = await newProject("daily");
    await newDestination();
    const page = await running.open(`/exports/new?project=${project}`);
    await page.button("On a schedule").click();
    await page.field("Beginning at (UTC)").fill("2026-05-05T00:00");
    await page.field("How often").last().selectOption({ label: "Every week" });
    await page.page.getByRole("status").filter({ hasText: "41 runs so far" }).waitFor();
    await expectFine(page);
    await page.button("Start the schedule").click();
    await page.text("every week, from 2026-05-05 UTC").waitFor();
    const made = page.page.getByRole("table", { name: "Exports" });
    await made.getByText("2026-05-05 – 2026-05-12").waitFor();
    await made.getByText("41 runs").waitFor();
    await expectFine(page);
    const list = await running.open("/exports");
    await list.page.getByText("by schedule").first().waitFor();
    await list.field("Leave out exports of schedules").check();
    await list.page.getByText("by schedule").first().waitFor({ state: "detached" });
    expect(list.path).toBe("/exports?schedules=apart");
    await expectFine(list);

    await page.button("Stop the schedule").click();
    await page.text("No more exports are created.").waitFor();
    await page.button("Stop it").click();
    await page.text("Cancelled").waitFor();
    await expectFine(page);
  });

  it("appears in the list of another window by itself", async () => {
    const project = await newProject("seen elsewhere");
    const page = await running.open("/exports");
    await page.heading("Exports").waitFor();
    const { id } = await newExport(project);
    await page.page.getByRole("link", { name: "seen elsewhere" }).waitFor();
    await waitUntil(
      async () => (await page.page.getByRole("row", { name: /seen elsewhere.*Completed/ }).count()) === 1,
      { what: `export ${id} to be shown as completed`, timeoutMs: 30_000 },
    );
    await expectFine(page);
  });
});

it("fits a phone", async () => {
  const project = await newProject("on a phone");
  const { id } = await newExport(project);
  for (const path of [
    "/exports",
    "/exports/new",
    "/exports/destinations",
    "/exports/destinations/new",
    `/exports/${id}`,
  ]) {
    const page = await running.open(path, { viewport: phone });
    await page.page.getByRole("heading", { level: 1 }).waitFor();
    await page.settled();
    expect(await page.overflowing(), path).toEqual([]);
    await expectFine(page);
  }
});

it("a key that may only look is not offered what it may not do", async () => {
  const { key } = await call<{ key: string }>("POST", "/v2/api-keys", { name: "looks only", role: "viewer" });
  const page = await running.open("/exports/new", { apiKey: key });
  await page.text("Your key can only read").waitFor();
  await page.visit("/exports");
  await page.heading("Exports").waitFor();
  await page.settled();
  expect(await page.link("New export").count()).toBe(0);
  const { id } = await newExport(await newProject("looked at"));
  await page.visit(`/exports/${id}`);
  await page.button(/^Copy path of/).waitFor();
  expect(await page.button(/^Download/).count()).toBe(0);
  await expectFine(page);
});
