import { randomUUID } from "node:crypto";
import { Client } from "langsmith";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTracesApp, samplePost, type TracesApp, testLinks } from "../../../tests/support/traces-app.ts";
import { SecretBox } from "../../platform/encryption/secret-box.ts";
import type { RunningServer } from "../../platform/http/server/server.ts";
import { AttachmentLinks } from "../attachments/attachment-links.ts";

/** The unmodified client over a real connection. */
let subject: TracesApp;
let server: RunningServer;
let client: Client;
beforeAll(async () => {
  subject = await createTracesApp();
  server = await subject.listen();
  client = new Client({ apiUrl: `${server.url}/api/v1`, apiKey: subject.app.apiKey });
});
afterAll(() => subject?.stop());

async function listed(options: Parameters<Client["listExamples"]>[0]): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const example of client.listExamples(options)) found.push(example.inputs);
  return found;
}

describe("listExamples", () => {
  test("filters by metadata and payloads", async () => {
    const dataset = await client.createDataset(randomUUID());
    await client.createExamples([
      { dataset_id: dataset.id, inputs: { n: 1 }, metadata: { team: "a", env: { name: "prod" } } },
      { dataset_id: dataset.id, inputs: { n: 2 }, metadata: { team: "b" } },
      { dataset_id: dataset.id, inputs: { n: 3, word: "zebra" }, outputs: { ok: true } },
    ]);
    const filtered = (filter: string) => listed({ datasetId: dataset.id, filter });
    expect(await filtered('exists(metadata, "team")')).toEqual([{ n: 1 }, { n: 2 }]);
    expect(await filtered('exists(metadata, "env.name")')).toEqual([{ n: 1 }]);
    expect(await filtered(`and(exists(metadata, "team"), not(has(metadata, '{"team": "a"}')))`)).toEqual([
      { n: 2 },
    ]);
    expect(await filtered(`or(has(inputs, '{"n": 1}'), has(outputs, '{"ok": true}'))`)).toEqual([
      { n: 1 },
      { n: 3, word: "zebra" },
    ]);
    expect(await filtered('search("ZEBRA")')).toEqual([{ n: 3, word: "zebra" }]);
    await expect(filtered('eq(status, "error")')).rejects.toThrow(/no field status/);
    await expect(filtered("exists(metadata")).rejects.toThrow(/expected/i);
  });

  test("reads a dataset as it was", async () => {
    const dataset = await client.createDataset(randomUUID());
    const { example_ids, as_of } = (await client.uploadExamplesMultipart(dataset.id, [
      { id: randomUUID(), inputs: { n: 1 } },
      { id: randomUUID(), inputs: { n: 2 } },
    ])) as unknown as { example_ids: string[]; as_of: string };
    const first = await client.readExample(example_ids[0]!);
    // A date of the client's clock knows no microseconds.
    const shown = new Date((first as unknown as { modified_at: string }).modified_at);
    await waitUntil(() => Date.now() > shown.getTime() + 1, {
      what: "a later millisecond",
      timeoutMs: 1_000,
    });
    await client.updateExample({ id: example_ids[0]!, inputs: { n: 10 } } as never);
    await client.deleteExample(example_ids[1]!);
    await client.createExamples([{ dataset_id: dataset.id, inputs: { n: 3 } }]);
    const at = (asOf?: string | Date) => listed({ datasetId: dataset.id, ...(asOf && { asOf }) });
    expect(await at()).toEqual([{ n: 10 }, { n: 3 }]);
    expect(await at("latest")).toEqual([{ n: 10 }, { n: 3 }]);
    expect(await at(as_of)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(await at(shown)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(await at(new Date(shown.getTime() - 60_000))).toEqual([]);
    const one = await subject.app.call("GET", `/api/v1/examples/${example_ids[1]}?as_of=${as_of}`);
    expect(one.body).toMatchObject({ inputs: { n: 2 } });
    await expect(at("no such tag")).rejects.toThrow(/no version/);
  });
});

describe("examples made of runs", () => {
  test("take inputs, outputs and attachments over", async () => {
    const run = samplePost({ inputs: { q: "why" }, outputs: { a: 42 } });
    const bytes = Buffer.from([1, 2, 3]);
    await subject.multipart([
      { name: `post.${run.id}`, value: run },
      { name: `attachment.${run.id}.photo`, bytes, type: "image/png; length=3" },
    ]);
    const dataset = await client.createDataset(randomUUID());
    await client.createExamples([
      {
        dataset_id: dataset.id,
        inputs: {},
        source_run_id: run.id,
        use_source_run_io: true,
        use_source_run_attachments: ["photo"],
      },
    ]);
    const found = [];
    for await (const each of client.listExamples({ datasetId: dataset.id, includeAttachments: true }))
      found.push(each);
    const [example] = found;
    expect(example).toMatchObject({ inputs: { q: "why" }, outputs: { a: 42 }, source_run_id: run.id });
    const url = example!.attachments!.photo!.presigned_url;
    expect(Buffer.from(await (await fetch(url)).arrayBuffer())).toEqual(bytes);
    const unknown = [
      { dataset_id: dataset.id, inputs: {}, source_run_id: randomUUID(), use_source_run_io: true },
    ];
    await expect(client.createExamples(unknown)).rejects.toThrow(/not found/);
    await expect(
      client.createExamples([{ dataset_id: dataset.id, inputs: {}, use_source_run_io: true }]),
    ).rejects.toThrow(/need a source_run_id/);
  });
});

describe("links of attachments", () => {
  const place = () =>
    ({ workspaceId: subject.app.workspaceId, of: "run", id: randomUUID(), name: "a" }) as const;
  const status = async (url: string) => (await fetch(url)).status;

  test("come with a run and open without a key", async () => {
    const run = samplePost();
    await subject.multipart([
      { name: `post.${run.id}`, value: run },
      { name: `attachment.${run.id}.page`, bytes: Buffer.from("<b>x</b>"), type: "text/html" },
    ]);
    const response = await fetch(`${server.url}/api/v1/runs/${run.id}`, {
      headers: { "x-api-key": subject.app.apiKey },
    });
    const { s3_urls } = (await response.json()) as { s3_urls: Record<string, { presigned_url: string }> };
    expect(s3_urls).toMatchObject({ "attachment.page": { mime_type: "text/html", size: 8 } });
    const read = await fetch(s3_urls["attachment.page"]!.presigned_url);
    expect(await read.text()).toBe("<b>x</b>");
    expect(read.headers.get("content-type")).toBe("application/octet-stream");
    const page = await subject.app.call("POST", "/api/v1/runs/query", {
      body: { id: [run.id], select: ["id", "s3_urls"] },
    });
    expect(page.body).toMatchObject({ runs: [{ id: run.id, s3_urls: { "attachment.page": { size: 8 } } }] });
    expect((await subject.run(samplePost().id)) ?? null).toBeNull();
  });

  test("403 when changed, sealed by another installation, or expired", async () => {
    const now = new Date();
    const good = testLinks.urlOf(server.url, place(), now);
    expect(await status(good)).toBe(404);
    const last = good.at(-5) === "A" ? "B" : "A";
    expect(await status(`${good.slice(0, -5)}${last}${good.slice(-4)}`)).toBe(403);
    expect(await status(`${server.url}/api/v1/attachments/x`)).toBe(403);
    const foreign = new AttachmentLinks(new SecretBox({ currentKey: "the key of somebody else" }));
    expect(await status(foreign.urlOf(server.url, place(), now))).toBe(403);
    const old = testLinks.urlOf(server.url, place(), new Date(now.getTime() - 25 * 3_600_000));
    expect(await status(old)).toBe(403);
  });
});
