import { randomUUID } from "node:crypto";
import { Client } from "langsmith";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createTracesApp,
  sampleChild,
  samplePost,
  type TracesApp,
} from "../../../tests/support/traces-app.ts";

process.noDeprecation = true;
let subject: TracesApp;
let client: Client;
/** A person who has only the link. */
let stranger: Client;
let url: string;
beforeAll(async () => {
  subject = await createTracesApp();
  url = (await subject.listen()).url;
  client = new Client({ apiUrl: `${url}/api/v1`, apiKey: subject.app.apiKey });
  stranger = new Client({ apiUrl: `${url}/api/v1`, apiKey: "no-key-at-all" });
});
afterAll(() => subject.stop());

async function trace() {
  const root = samplePost({ inputs: { q: 1 }, outputs: { a: 1 }, session_name: "shared" });
  const child = sampleChild(root, { run_type: "llm", session_name: "shared" });
  const other = samplePost({ session_name: "shared" });
  await subject.app.call("POST", "/api/v1/runs/batch", { body: { post: [root, child, other], patch: [] } });
  const stored = (await subject.run(root.id)) as { session_id: string; start_time: string };
  return { root, child, other, projectId: stored.session_id, startTime: stored.start_time };
}
const tokenIn = (link: string) => /\/public\/([0-9a-f-]{36})\//.exec(link)![1]!;

describe("a shared run", () => {
  test("is read by its token with its trace, and nothing beside it", async () => {
    const { root, child, other } = await trace();
    expect(await client.readRunSharedLink(root.id)).toBeUndefined();
    const token = tokenIn(await client.shareRun(root.id));
    expect(tokenIn((await client.readRunSharedLink(child.id))!)).toBe(token);
    expect(tokenIn(await client.shareRun(child.id, { shareId: randomUUID() }))).toBe(token);

    expect((await stranger.listSharedRuns(token)).map((run) => run.id)).toEqual([root.id, child.id]);
    expect(await stranger.listSharedRuns(token, { runIds: [child.id] })).toMatchObject([{ id: child.id }]);
    expect(await stranger.listSharedRuns(token, { runIds: [other.id] })).toEqual([]);
    const get = async (path: string) => {
      const answer = await fetch(`${url}${path}`);
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    expect(await get(`/api/v1/public/${token}/run`)).toMatchObject({
      body: { id: root.id, inputs: { q: 1 } },
    });
    expect((await get(`/api/v1/public/${token}/run/${other.id}`)).status).toBe(404);
    // The address the client gives out.
    expect(await get(`/public/${token}/r`)).toMatchObject({ status: 200, body: [{ id: root.id }, {}] });
    expect((await get(`/api/v1/public/${token}/datasets`)).status).toBe(404);

    await client.unshareRun(child.id);
    await expect(stranger.listSharedRuns(token)).rejects.toThrow(/Nothing is shared/);
    expect(await client.readRunSharedLink(root.id)).toBeUndefined();
  });

  test("in another project or trace than the one that is named: 404, and nothing is shared or taken back", async () => {
    const { root, child, other, projectId } = await trace();
    const status = async (asked: Promise<unknown>) =>
      asked.then(
        () => 200,
        (error: { status?: number }) => error.status,
      );
    const { share } = client.runs;
    expect(await status(share.create(child.id, { session_id: randomUUID() }))).toBe(404);
    expect(await status(share.create(child.id, { trace_id: other.id }))).toBe(404);
    expect(await client.readRunSharedLink(root.id)).toBeUndefined();
    await share.create(child.id, { session_id: projectId });
    expect(await status(share.delete(root.id, { session_id: randomUUID() }))).toBe(404);
    expect(await client.readRunSharedLink(root.id)).toBeDefined();
    await share.delete(root.id, { session_id: projectId });
    expect(await client.readRunSharedLink(root.id)).toBeUndefined();
  });

  test("by the newer methods", async () => {
    const { root, child, projectId, startTime } = await trace();
    const share = await client.runs.share.create(child.id, { session_id: projectId, trace_id: root.id });
    const share_token = share.share_token!;
    const shown = await client.runs.retrieve(root.id, { project_id: projectId, selects: ["SHARE_URL"] });
    expect(shown).toMatchObject({ share_url: `${url}/public/${share_token}/r` });
    const found = await stranger.public.runs.query(share_token, { selects: ["NAME", "STATUS"] });
    expect(found.items).toMatchObject([{ id: root.id, name: "root" }, { id: child.id }]);
    const one = { share_token, selects: ["NAME"], start_time: startTime };
    expect(await stranger.public.runs.retrieve(root.id, one)).toMatchObject({ name: "root" });
    await client.runs.share.delete(root.id, { session_id: projectId });
    await expect(stranger.public.runs.retrieve(root.id, one)).rejects.toThrow(/404/);
    const again = await client.runs.retrieve(root.id, { project_id: projectId, selects: ["SHARE_URL"] });
    expect(again).toMatchObject({ share_url: null });
  });

  test("404 for runs that are not there, 409 for a token that is taken", async () => {
    const [one, two] = [await trace(), await trace()];
    await expect(client.shareRun(randomUUID())).rejects.toThrow(/not found/);
    const token = tokenIn(await client.shareRun(one.root.id));
    await expect(client.shareRun(two.root.id, { shareId: token })).rejects.toThrow(/taken/);
  });
});

describe("a shared dataset", () => {
  test("is read, and cloned by whoever has its token", async () => {
    const name = randomUUID();
    const { id: datasetId } = await client.createDataset(name, { description: "d" });
    await client.createExamples([
      { dataset_id: datasetId, inputs: { q: 1 }, outputs: { a: 1 } },
      { dataset_id: datasetId, inputs: { q: 2 }, outputs: { a: 2 } },
    ]);
    await expect(client.readDatasetSharedSchema(datasetId)).rejects.toThrow(/not shared/);
    const shared = await client.shareDataset(datasetId);
    expect(await client.readDatasetSharedSchema(undefined, name)).toEqual(shared);
    const token = shared.share_token;
    expect(await stranger.readSharedDataset(token)).toMatchObject({ id: datasetId, name, description: "d" });
    const examples = await stranger.listSharedExamples(token);
    expect(examples).toMatchObject([{ inputs: { q: 1 } }, { inputs: { q: 2 } }]);
    const exampleIds = [examples[1]!.id];
    expect(await stranger.listSharedExamples(token, { exampleIds })).toMatchObject([{ inputs: { q: 2 } }]);
    await client.createProject({ projectName: randomUUID(), referenceDatasetId: datasetId });
    const experiments = await fetch(`${url}/api/v1/public/${token}/datasets/sessions`);
    expect(await experiments.json()).toMatchObject([{ reference_dataset_id: datasetId }]);

    const copy = randomUUID();
    await client.clonePublicDataset(token, { datasetName: copy });
    expect(await client.readDataset({ datasetName: copy })).toMatchObject({
      example_count: 2,
      description: "d",
    });
    await client.unshareDataset(datasetId);
    await expect(stranger.readSharedDataset(token)).rejects.toThrow(/Nothing is shared/);
    const again = await client.shareDataset(datasetId);
    await client.deleteDataset({ datasetId });
    await expect(stranger.listSharedExamples(again.share_token)).rejects.toThrow();
  });
});
