import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createTracesApp,
  multipartBody,
  type SamplePart,
  type TracesApp,
} from "../../../tests/support/traces-app.ts";

let subject: TracesApp;
beforeAll(async () => {
  subject = await createTracesApp();
});
afterAll(() => subject.stop());

type Wire = Record<string, unknown> & { id: string; name: string };
const call = (method: string, where: string, body?: unknown) =>
  subject.app.call(method, `/api/v1${where}`, body === undefined ? {} : { body }) as Promise<{
    status: number;
    body: Wire & Wire[];
  }>;

async function upload(method: string, dataset: string, parts: SamplePart[]) {
  const response = await subject.app.fetch(
    new Request(`http://127.0.0.1/api/v1/platform/datasets/${dataset}/examples`, {
      method,
      headers: { "x-api-key": subject.app.apiKey, "content-type": "multipart/form-data; boundary=b" },
      body: new Uint8Array(multipartBody(parts, "b")),
    }),
  );
  return {
    status: response.status,
    body: (await response.json()) as { count: number; example_ids: string[] },
  };
}

describe("datasets", () => {
  test("are made, found, changed and deleted", async () => {
    const name = randomUUID();
    const made = await call("POST", "/datasets", { name, extra: { metadata: { team: "x" } } });
    expect(made).toMatchObject({
      status: 200,
      body: { name, data_type: "kv", example_count: 0, session_count: 0, metadata: { team: "x" } },
    });
    expect((await call("POST", "/datasets", { name })).status).toBe(409);
    expect((await call("GET", `/datasets?name=${name}&limit=1`)).body).toMatchObject([{ id: made.body.id }]);
    expect((await call("GET", `/datasets?metadata=${encodeURIComponent('{"team":"y"}')}`)).body).toEqual([]);
    expect((await call("PATCH", `/datasets/${made.body.id}`, { description: "d" })).body).toMatchObject({
      name,
      description: "d",
    });
    expect((await call("DELETE", `/datasets/${made.body.id}`)).status).toBe(204);
    expect((await call("GET", `/datasets/${made.body.id}`)).status).toBe(404);
    expect((await call("POST", "/datasets", { name: "x", data_type: "odd" })).status).toBe(422);
  });
});

describe("as a file", () => {
  const file = async (id: string, format: string) => {
    const response = await subject.app.fetch(
      new Request(`http://127.0.0.1/api/v1/datasets/${id}/${format}`, {
        headers: { "x-api-key": subject.app.apiKey },
      }),
    );
    return {
      status: response.status,
      type: response.headers.get("content-type"),
      text: await response.text(),
    };
  };

  test("more examples than are read at once come in their order", async () => {
    const { body: dataset } = await call("POST", "/datasets", { name: randomUUID() });
    const examples = Array.from({ length: 1_001 }, (_, n) => ({
      dataset_id: dataset.id,
      inputs: { n },
      ...(n === 1_000 && { outputs: { last: true } }),
    }));
    expect((await call("POST", "/examples/bulk", examples)).status).toBe(200);
    const lines = await file(dataset.id, "jsonl");
    expect([lines.status, lines.type]).toEqual([200, "application/jsonl"]);
    const read = lines.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { inputs: { n: number } });
    expect(read.map(({ inputs }) => inputs.n)).toEqual(examples.map(({ inputs }) => inputs.n));
    const table = await file(dataset.id, "csv");
    expect([table.status, table.type]).toEqual([200, "text/csv"]);
    const rows = table.text.trimEnd().split("\r\n");
    expect(rows[0]).toBe("id,inputs.n,outputs.last");
    expect(rows).toHaveLength(1_002);
    expect(rows.at(-1)).toMatch(/,1000,true$/);
  });

  test("404: a dataset that is not there", async () => {
    expect((await file(randomUUID(), "jsonl")).status).toBe(404);
    expect((await file(randomUUID(), "csv")).status).toBe(404);
  });
});

describe("examples", () => {
  test("come as parts, are listed in order, changed and deleted", async () => {
    const { body: dataset } = await call("POST", "/datasets", { name: randomUUID() });
    const [one, two] = [randomUUID(), randomUUID()];
    const added = await upload("POST", dataset.id, [
      { name: one, value: { metadata: { m: 1 }, split: "train" } },
      { name: `${one}.inputs`, value: { q: 1 } },
      { name: `${one}.outputs`, value: { a: 1 } },
      { name: two, value: {} },
      { name: `${two}.inputs`, value: { q: 2 } },
    ]);
    expect(added).toMatchObject({ status: 201, body: { count: 2, example_ids: [one, two] } });
    expect((await call("GET", `/examples?dataset=${dataset.id}&inline_s3_urls=true`)).body).toMatchObject([
      {
        id: one,
        dataset_id: dataset.id,
        inputs: { q: 1 },
        outputs: { a: 1 },
        metadata: { m: 1, dataset_split: ["train"] },
      },
      { id: two, outputs: null, metadata: { dataset_split: ["base"] } },
    ]);
    expect((await call("GET", `/examples?dataset=${dataset.id}&splits=train`)).body).toHaveLength(1);
    expect(
      (
        await upload("PATCH", dataset.id, [
          { name: two, value: {} },
          { name: `${two}.outputs`, value: { a: 2 } },
        ])
      ).status,
    ).toBe(201);
    expect((await call("GET", `/examples/${two}`)).body).toMatchObject({
      inputs: { q: 2 },
      outputs: { a: 2 },
    });
    expect((await call("PATCH", `/examples/${two}`, { inputs: { q: 3 } })).body).toMatchObject({
      inputs: { q: 3 },
      outputs: { a: 2 },
    });
    expect((await call("DELETE", `/examples/${one}`)).status).toBe(200);
    expect((await call("GET", `/examples/${one}`)).status).toBe(404);
    expect((await call("GET", `/datasets/${dataset.id}`)).body).toMatchObject({ example_count: 1 });
  });

  test("come as JSON, one or many, all or none", async () => {
    const { body: dataset } = await call("POST", "/datasets", { name: randomUUID() });
    const made = await call("POST", "/examples", { dataset_id: dataset.id, inputs: { q: 1 } });
    expect(made).toMatchObject({ status: 200, body: { inputs: { q: 1 } } });
    const many = [
      { dataset_id: dataset.id, inputs: { q: 2 } },
      { dataset_id: dataset.id, id: made.body.id, inputs: {} },
    ];
    expect((await call("POST", "/examples/bulk", many)).status).toBe(409);
    expect((await call("POST", "/examples/bulk", many.slice(0, 1))).body).toMatchObject([
      { inputs: { q: 2 } },
    ]);
    expect((await call("GET", `/examples?dataset=${dataset.id}`)).body).toHaveLength(2);
    expect((await call("POST", "/examples", { dataset_id: randomUUID(), inputs: {} })).status).toBe(404);
  });

  test("keep attachments, which are listed, read, renamed and given up", async () => {
    const { body: dataset } = await call("POST", "/datasets", { name: randomUUID() });
    const id = randomUUID();
    const bytes = Buffer.from([0, 1, 2, 255]);
    await upload("POST", dataset.id, [
      { name: id, value: {} },
      { name: `${id}.inputs`, value: { q: 1 } },
      { name: `${id}.attachment.image`, bytes, type: "image/png" },
      { name: `${id}.attachment.note`, bytes: Buffer.from("text"), type: "text/plain" },
    ]);
    const attachments = async () =>
      (await call("GET", `/examples/${id}`)).body.attachment_urls as Record<string, unknown>;
    expect(await attachments()).toMatchObject({
      "attachment.image": {
        mime_type: "image/png",
        presigned_url: expect.stringContaining("/api/v1/attachments/"),
      },
      "attachment.note": { mime_type: "text/plain" },
    });
    expect((await call("GET", `/examples?dataset=${dataset.id}`)).body[0]?.attachment_urls).not.toBeNull();
    const path = `/examples/${id}/attachments`;
    const read = await subject.app.fetch(
      new Request(`http://127.0.0.1/api/v1${path}/image`, { headers: { "x-api-key": subject.app.apiKey } }),
    );
    expect(Buffer.from(await read.arrayBuffer())).toEqual(bytes);
    expect(read.headers.get("content-type")).toBe("application/octet-stream");
    const kept = { retain: [], rename: { image: "picture" } };
    await upload("PATCH", dataset.id, [
      { name: id, value: {} },
      { name: `${id}.attachments_operations`, value: kept },
    ]);
    expect(Object.keys(await attachments())).toEqual(["attachment.picture"]);
    expect((await call("GET", `${path}/note`)).status).toBe(404);
  });

  test("422 for parts that are no example", async () => {
    const { body: dataset } = await call("POST", "/datasets", { name: randomUUID() });
    expect((await upload("POST", dataset.id, [{ name: "x", value: {} }])).status).toBe(422);
    expect((await upload("POST", dataset.id, [{ name: `${randomUUID()}.other`, value: {} }])).status).toBe(
      422,
    );
    expect((await upload("POST", randomUUID(), [{ name: randomUUID(), value: {} }])).status).toBe(404);
  });
});
