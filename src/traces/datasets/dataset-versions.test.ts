import { randomUUID } from "node:crypto";
import { Client, type Example } from "langsmith";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTracesApp, type TracesApp } from "../../../tests/support/traces-app.ts";

let subject: TracesApp;
let client: Client;
beforeAll(async () => {
  subject = await createTracesApp();
  const { url } = await subject.listen();
  client = new Client({ apiUrl: `${url}/api/v1`, apiKey: subject.app.apiKey });
});
afterAll(() => subject.stop());

async function list(props: Parameters<Client["listExamples"]>[0]): Promise<Example[]> {
  const found: Example[] = [];
  for await (const each of client.listExamples(props)) found.push(each);
  return found;
}
const now = async (datasetId: string) =>
  (await client.readDatasetVersion({ datasetId, tag: "latest" })).as_of;

/** A dataset of two, then one changed, then one removed and one added: the versions in between. */
async function grown() {
  const { id: datasetId } = await client.createDataset(randomUUID());
  const empty = await now(datasetId);
  const [first, second] = await client.createExamples([
    { dataset_id: datasetId, inputs: { q: 1 }, outputs: { a: 1 }, split: "train" },
    { dataset_id: datasetId, inputs: { q: 2 }, metadata: { m: 1 } },
  ]);
  const made = await now(datasetId);
  await client.updateExample({ id: first!.id, dataset_id: datasetId, outputs: { a: "one" } });
  const changed = await now(datasetId);
  await client.deleteExamples([second!.id]);
  const [third] = await client.createExamples([{ dataset_id: datasetId, inputs: { q: 3 } }]);
  return { datasetId, empty, made, changed, ids: [first!.id, second!.id, third!.id] as const };
}

describe("versions of a dataset", () => {
  test("examples are read as they were", async () => {
    const { datasetId, empty, made, changed, ids } = await grown();
    const [first, second, third] = ids;
    expect(await list({ datasetId, asOf: empty })).toEqual([]);
    expect(await list({ datasetId, asOf: made })).toMatchObject([
      { id: first, outputs: { a: 1 }, metadata: { dataset_split: ["train"] } },
      { id: second, inputs: { q: 2 }, metadata: { m: 1 } },
    ]);
    expect(await list({ datasetId, asOf: changed })).toMatchObject([
      { id: first, inputs: { q: 1 }, outputs: { a: "one" }, metadata: { dataset_split: ["train"] } },
      { id: second },
    ]);
    expect((await list({ datasetId })).map((each) => each.id)).toEqual([first, third]);
    // A date keeps milliseconds, and a version has no more.
    expect(await list({ datasetId, asOf: new Date(made) })).toMatchObject([{ outputs: { a: 1 } }, {}]);
    expect(await list({ datasetId, asOf: made, splits: ["train"] })).toHaveLength(1);
    const one = await subject.app.call("GET", `/api/v1/examples/${second}?as_of=${changed}`);
    expect(one).toMatchObject({ status: 200, body: { inputs: { q: 2 } } });
    expect((await subject.app.call("GET", `/api/v1/examples/${second}`)).status).toBe(404);
  });

  test("tags point at one and move; a diff tells what lies between", async () => {
    const { datasetId, made, changed, ids } = await grown();
    const [first, second, third] = ids;
    await client.updateDatasetTag({ datasetId, asOf: made, tag: "prod" });
    expect(await client.readDatasetVersion({ datasetId, tag: "prod" })).toEqual({
      as_of: made,
      tags: ["prod"],
    });
    expect(await list({ datasetId, asOf: "prod" })).toHaveLength(2);
    const diff = (fromVersion: string, toVersion: string) =>
      client.diffDatasetVersions({ datasetId, fromVersion, toVersion });
    expect(await diff("prod", "latest")).toEqual({
      examples_added: [third],
      examples_modified: [first],
      examples_removed: [second],
    });
    expect(await diff("latest", "prod")).toMatchObject({
      examples_added: [second],
      examples_removed: [third],
    });
    expect(await diff(changed, changed)).toEqual({
      examples_added: [],
      examples_modified: [],
      examples_removed: [],
    });
    await client.updateDatasetTag({ datasetId, asOf: changed, tag: "prod" });
    expect((await client.readDatasetVersion({ datasetId, tag: "prod" })).as_of).toBe(changed);
    const listed = await subject.app.call("GET", `/api/v1/datasets/${datasetId}/versions`);
    expect(listed.body).toMatchObject([
      {},
      {},
      { as_of: changed, tags: ["prod"] },
      { as_of: made, tags: [] },
      {},
    ]);
    const call = (path: string) => subject.app.call("GET", `/api/v1/datasets/${datasetId}${path}`);
    expect((await call("/versions?search=PRO")).body).toHaveLength(1);
    expect((await call("/version?tag=none")).status).toBe(404);
    expect((await call("/version?as_of=2001-01-01T00:00:00Z")).status).toBe(404);
    expect((await call("/version")).status).toBe(422);
    await expect(client.updateDatasetTag({ datasetId, asOf: made, tag: "latest" })).rejects.toThrow(/newest/);
    expect((await subject.app.call("GET", "/api/v1/examples?as_of=prod")).status).toBe(422);
  });

  test("splits are changed for some examples, and known for every version", async () => {
    const { datasetId, made, ids } = await grown();
    const [first, , third] = ids;
    expect(await client.listDatasetSplits({ datasetId })).toEqual(["base", "train"]);
    await client.updateDatasetSplits({ datasetId, splitName: "test", exampleIds: [first, third] });
    await client.updateDatasetSplits({ datasetId, splitName: "train", exampleIds: [first], remove: true });
    expect(await client.listDatasetSplits({ datasetId })).toEqual(["base", "test"]);
    expect(await client.listDatasetSplits({ datasetId, asOf: made })).toEqual(["base", "train"]);
    expect((await list({ datasetId, splits: ["test"] })).map((each) => each.id)).toEqual([first, third]);
    await expect(
      client.updateDatasetSplits({ datasetId, splitName: "x", exampleIds: [randomUUID()] }),
    ).rejects.toThrow(/not found/);
  });

  test("a change of the metadata keeps the splits, a change of the splits the metadata", async () => {
    const { id: datasetId } = await client.createDataset(randomUUID());
    const [made] = await client.createExamples([
      { dataset_id: datasetId, inputs: {}, metadata: { a: 1 }, split: ["train"] },
    ]);
    const change = (update: object) =>
      client.updateExample({ id: made!.id, dataset_id: datasetId, ...update });
    await change({ metadata: { b: 2 } });
    expect((await client.readExample(made!.id)).metadata).toEqual({ b: 2, dataset_split: ["train"] });
    await change({ split: "test" });
    expect((await client.readExample(made!.id)).metadata).toEqual({ b: 2, dataset_split: ["test"] });
    await change({ outputs: { x: 1 } });
    expect((await client.readExample(made!.id)).metadata).toEqual({ b: 2, dataset_split: ["test"] });
  });

  test("what is deleted for good is in no version", async () => {
    const { datasetId, made, ids } = await grown();
    const [first, second] = ids;
    await client.deleteExamples([first, second], { hardDelete: true });
    expect(await list({ datasetId, asOf: made })).toEqual([]);
    expect(await list({ datasetId })).toHaveLength(1);
  });

  test("writers at the same time make versions one after another", async () => {
    const { id: datasetId } = await client.createDataset(randomUUID());
    const add = (q: number) =>
      subject.app.call("POST", "/api/v1/examples", { body: { dataset_id: datasetId, inputs: { q } } });
    await Promise.all(Array.from({ length: 12 }, (_, index) => add(index)));
    const { body } = await subject.app.call("GET", `/api/v1/datasets/${datasetId}/versions`);
    const versions = (body as { as_of: string }[]).map((each) => each.as_of);
    expect(new Set(versions).size).toBe(13);
    for (const [index, asOf] of versions.toReversed().entries())
      expect(await list({ datasetId, asOf })).toHaveLength(index);
  });
});

describe("files", () => {
  test("a CSV file becomes a dataset", async () => {
    const csvFile = new Blob(['q,lang,a,note\n"What, then?",en,"so ""be"" it",x\nQuoi,fr,,y\n']);
    const name = randomUUID();
    const columns = { inputKeys: ["q", "lang"], outputKeys: ["a"] };
    const made = await client.uploadCsv({ csvFile, fileName: "a.csv", name, description: "d", ...columns });
    expect(made).toMatchObject({ name, description: "d", data_type: "kv", example_count: 2 });
    expect(await list({ datasetId: made.id })).toMatchObject([
      { inputs: { q: "What, then?", lang: "en" }, outputs: { a: 'so "be" it' } },
      { inputs: { q: "Quoi", lang: "fr" }, outputs: { a: "" } },
    ]);
    const again = { csvFile, fileName: "b.csv", name: randomUUID(), ...columns };
    await expect(client.uploadCsv({ ...again, outputKeys: ["none"] })).rejects.toThrow(/no column/);
    await expect(client.uploadCsv({ ...again, name })).rejects.toThrow(/already exists/);
    await expect(client.uploadCsv({ ...again, csvFile: new Blob(['a\n"b']) })).rejects.toThrow(/not a CSV/);
  });

  test("what a spreadsheet would run is quoted in an export, and the same again after an import", async () => {
    const { id: datasetId } = await client.createDataset(randomUUID());
    const inputs = { a: "=1+1", b: "'=1", c: "-3", d: "@x", e: "it's" };
    await client.createExample({ dataset_id: datasetId, inputs });
    const exported = new Request(`http://x/api/v1/datasets/${datasetId}/csv`, {
      headers: { "x-api-key": subject.app.apiKey },
    });
    const body = await (await subject.app.fetch(exported)).text();
    expect(body).toContain("'=1+1,''=1,-3,'@x,it's\r\n");
    const inputKeys = Object.keys(inputs).map((key) => `inputs.${key}`);
    const file = { csvFile: new Blob([body]), fileName: "a.csv", name: randomUUID() };
    const made = await client.uploadCsv({ ...file, inputKeys, outputKeys: [] });
    const [example] = await list({ datasetId: made.id });
    expect(Object.values(example!.inputs)).toEqual(Object.values(inputs));
    // Another's table says what it says.
    const others = { ...file, csvFile: new Blob(["q\n'=1\n"]), name: randomUUID() };
    const other = await client.uploadCsv({ ...others, inputKeys: ["q"], outputKeys: [] });
    expect(await list({ datasetId: other.id })).toMatchObject([{ inputs: { q: "'=1" } }]);
  });

  test("conversations are exported for fine-tuning", async () => {
    const { id: datasetId } = await client.createDataset(randomUUID(), { dataType: "chat" });
    const question = [
      { type: "system", data: { content: "Be brief." } },
      { type: "human", data: { content: "2+2?" } },
    ];
    await client.createChatExample(question, { type: "ai", data: { content: "4" } }, { datasetId });
    await client.createExample({
      dataset_id: datasetId,
      inputs: { question: "3+3?" },
      outputs: { answer: "6" },
    });
    expect(await client.readDatasetOpenaiFinetuning({ datasetId })).toEqual([
      {
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "2+2?" },
          { role: "assistant", content: "4" },
        ],
      },
      {
        messages: [
          { role: "user", content: "3+3?" },
          { role: "assistant", content: "6" },
        ],
      },
    ]);
    await client.createExample({ dataset_id: datasetId, inputs: { a: 1, b: 2 } });
    await expect(client.readDatasetOpenaiFinetuning({ datasetId })).rejects.toThrow(/not a conversation/);
  });

  test("many examples at once, and several changed at once or none", async () => {
    const { id: dataset_id } = await client.createDataset(randomUUID());
    const sent = Array.from({ length: 9_000 }, (_, q) => ({ dataset_id, inputs: { q } }));
    const made = await subject.app.call("POST", "/api/v1/examples/bulk", { body: sent });
    expect(made.status).toBe(200);
    const [one, two] = made.body as { id: string }[];
    const patch = (body: unknown) => subject.app.call("PATCH", "/api/v1/examples/bulk", { body });
    expect((await patch([{ id: one!.id, outputs: { a: 1 } }, { id: randomUUID() }])).status).toBe(404);
    expect((await client.readExample(one!.id)).outputs).toBeNull();
    expect((await patch([one!, two!].map(({ id }) => ({ id, outputs: { a: 1 } })))).status).toBe(200);
    expect((await client.readExample(two!.id)).outputs).toEqual({ a: 1 });
  });
});
