import { randomUUID } from "node:crypto";
import { Client } from "langsmith";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTracesApp, samplePost, type TracesApp } from "../support/traces-app.ts";

/**
 * Every public method of the unmodified `langsmith` client against a real server. A method the list does not know fails the
 * first test: it is to be served, or named among those that are not.
 */

process.noDeprecation = true;

/** No part of tracing: prompts, agents and skills of the hub, evaluators that run by themselves, sandboxes. */
const notServed = [
  ..."promptExists likePrompt unlikePrompt listCommits listPrompts getPrompt createPrompt createCommit".split(
    " ",
  ),
  ..."updatePrompt deletePrompt pullPromptCommit pushPrompt agentExists skillExists pullAgent pullSkill".split(
    " ",
  ),
  ..."pushAgent pushSkill deleteAgent deleteSkill listAgents listSkills".split(" "),
  ..."create retrieve update list delete bulkDelete spend".split(" ").map((name) => `evaluators.${name}`),
];

/** Ask the server for nothing, or are the machinery behind the others. */
const local = [
  ..."getProfileManagedAuthorizationHeader isProfileManagedAuthorizationHeader hasExplicitAuthHeader".split(
    " ",
  ),
  ..."applyCurrentAuthHeaders getHostUrl processInputs processOutputs processMetadata processError".split(
    " ",
  ),
  ..."prepareRunCreateOrUpdateInputs drainAutoBatchQueue processRunOperation parseTokenOrUrl cleanup toString".split(
    " ",
  ),
];

let subject: TracesApp;
let client: Client;
beforeAll(async () => {
  subject = await createTracesApp();
  const { url } = await subject.listen();
  client = new Client({ apiUrl: `${url}/api/v1`, apiKey: subject.app.apiKey, autoBatchTracing: false });
});
afterAll(async () => {
  client?.cleanup();
  await subject?.stop();
});

async function all<T>(found: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const each of found) list.push(each);
  return list;
}

const [runId, secondRun, projectName] = [randomUUID(), randomUUID(), `project-${randomUUID()}`];
const run = samplePost({
  id: runId,
  session_name: projectName,
  start_time: new Date().toISOString(),
  extra: { metadata: { thread_id: "t1" } },
}) as never as Parameters<Client["createRun"]>[0] & Record<string, unknown>;
const kept: Record<string, string> = {};
const csv = new Blob(["q,a\n1,2\n"]);

/** In this order: each may use what those before it made. */
const calls: Record<string, () => unknown> = {
  createRun: () => client.createRun({ ...run, project_name: projectName }),
  updateRun: () => client.updateRun(runId, { end_time: new Date().toISOString(), outputs: { a: 1 } }),
  batchIngestRuns: () => client.batchIngestRuns({ runCreates: [post(secondRun)] }),
  multipartIngestRuns: () => client.multipartIngestRuns({ runCreates: [post(randomUUID())] }),
  flush: () => client.flush(),
  awaitPendingTraceBatches: () => client.awaitPendingTraceBatches(),
  readProject: async () => {
    kept.project = (await client.readProject({ projectName, includeStats: true })).id;
  },
  readRun: () => client.readRun(runId, { loadChildRuns: true }),
  getRunUrl: () => client.getRunUrl({ runId }),
  listRuns: async () => expect(await all(client.listRuns({ projectName }))).toHaveLength(3),
  listGroupRuns: async () => {
    const groups = await all(client.listGroupRuns({ projectName, groupBy: "conversation" }));
    expect(groups).toMatchObject([{ group_key: "t1", count: 1 }]);
  },
  readThread: async () =>
    expect(await all(client.readThread({ threadId: "t1", projectName }))).toHaveLength(1),
  listThreads: async () => expect(await client.listThreads({ projectName })).toHaveLength(1),
  getRunStats: () => client.getRunStats({ projectNames: [projectName] }),
  "runs.getURL": () => client.runs.getURL(runId, { project_id: kept.project!, trace_id: runId }),
  "runs.query": () => all(client.runs.query({ project_ids: [kept.project!] })),
  "runs.queryV2": () => all(client.runs.queryV2({ project_ids: [kept.project!] })),
  "runs.retrieve": () => client.runs.retrieve(runId, { project_id: kept.project! }),
  "runs.retrieveV2": () => client.runs.retrieveV2(runId, { project_id: kept.project! }),
  "traces.listRuns": () => client.traces.listRuns(runId, { project_id: kept.project! }),
  "traces.query": async () =>
    expect(await all(client.traces.query({ project_id: kept.project! }))).toHaveLength(3),
  "threads.query": async () =>
    expect(await all(client.threads.query({ project_id: kept.project! }))).toHaveLength(1),
  "threads.listTraces": () => all(client.threads.listTraces("t1", { project_id: kept.project! })),
  "threads.stats": () => client.threads.stats("t1", { session_id: kept.project!, selects: ["TURNS"] }),

  shareRun: async () => {
    kept.shared = /public\/(.+)\/r/.exec(await client.shareRun(runId))![1]!;
  },
  readRunSharedLink: async () => expect(await client.readRunSharedLink(runId)).toContain(kept.shared!),
  listSharedRuns: async () => expect(await client.listSharedRuns(kept.shared!)).toHaveLength(1),
  "public.runs.query": () => client.public.runs.query(kept.shared!, {}),
  "public.runs.retrieve": () =>
    client.public.runs.retrieve(runId, {
      share_token: kept.shared!,
      selects: ["NAME"],
      start_time: String(run.start_time),
    }),
  unshareRun: () => client.unshareRun(runId),
  "runs.share.create": () => client.runs.share.create(runId, { session_id: kept.project!, trace_id: runId }),
  "runs.share.delete": () => client.runs.share.delete(runId, { session_id: kept.project! }),

  createDataset: async () => {
    kept.dataset = (await client.createDataset(`dataset-${randomUUID()}`, { dataType: "chat" })).id;
  },
  readDataset: () => client.readDataset({ datasetId: kept.dataset! }),
  hasDataset: async () => expect(await client.hasDataset({ datasetId: kept.dataset! })).toBe(true),
  listDatasets: () => all(client.listDatasets()),
  updateDataset: () => client.updateDataset({ datasetId: kept.dataset!, description: "d" }),
  getDatasetUrl: () => client.getDatasetUrl({ datasetId: kept.dataset! }),
  uploadCsv: async () => {
    kept.csv = (
      await client.uploadCsv({ csvFile: csv, fileName: "a.csv", inputKeys: ["q"], outputKeys: ["a"] })
    ).id;
  },
  createExample: async () => {
    const made = await client.createExample({
      dataset_id: kept.dataset!,
      inputs: { q: "1" },
      outputs: { a: "1" },
    });
    kept.example = made.id;
  },
  createExamples: () =>
    client.createExamples([{ dataset_id: kept.dataset!, inputs: { q: "2" }, outputs: { a: "2" } }]),
  createLLMExample: () => client.createLLMExample("in", "out", { datasetId: kept.dataset! }),
  createChatExample: () =>
    client.createChatExample(
      [{ type: "human", data: { content: "in" } }],
      { type: "ai", data: { content: "out" } },
      {
        datasetId: kept.dataset!,
      },
    ),
  uploadExamplesMultipart: () => client.uploadExamplesMultipart(kept.csv!, [{ inputs: { q: 3 } } as never]),
  readExample: () => client.readExample(kept.example!),
  listExamples: async () =>
    expect(await all(client.listExamples({ datasetId: kept.dataset! }))).toHaveLength(4),
  updateExample: () =>
    client.updateExample({ id: kept.example!, dataset_id: kept.dataset!, metadata: { m: 1 } }),
  updateExamples: () =>
    client.updateExamples([{ id: kept.example!, dataset_id: kept.dataset!, split: "test" }]),
  updateExamplesMultipart: () =>
    client.updateExamplesMultipart(kept.dataset!, [{ id: kept.example!, outputs: { a: "9" } }]),
  readDatasetVersion: async () => {
    kept.version = (await client.readDatasetVersion({ datasetId: kept.dataset!, tag: "latest" })).as_of;
  },
  updateDatasetTag: () =>
    client.updateDatasetTag({ datasetId: kept.dataset!, asOf: kept.version!, tag: "prod" }),
  listDatasetSplits: async () =>
    expect(await client.listDatasetSplits({ datasetId: kept.dataset! })).toEqual(["base", "test"]),
  updateDatasetSplits: () =>
    client.updateDatasetSplits({ datasetId: kept.dataset!, splitName: "x", exampleIds: [kept.example!] }),
  diffDatasetVersions: async () => {
    const versions = { fromVersion: "prod", toVersion: "latest" };
    const diff = await client.diffDatasetVersions({ datasetId: kept.dataset!, ...versions });
    expect(diff.examples_modified).toEqual([kept.example]);
  },
  readDatasetOpenaiFinetuning: async () =>
    expect(await client.readDatasetOpenaiFinetuning({ datasetId: kept.dataset! })).toHaveLength(4),
  shareDataset: async () => {
    kept.sharedDataset = (await client.shareDataset(kept.dataset!)).share_token;
  },
  readDatasetSharedSchema: () => client.readDatasetSharedSchema(kept.dataset!),
  readSharedDataset: () => client.readSharedDataset(kept.sharedDataset!),
  listSharedExamples: async () =>
    expect(await client.listSharedExamples(kept.sharedDataset!)).toHaveLength(4),
  clonePublicDataset: () =>
    client.clonePublicDataset(kept.sharedDataset!, { datasetName: `copy-${randomUUID()}` }),
  unshareDataset: () => client.unshareDataset(kept.dataset!),

  createProject: async () => {
    const made = { projectName: `experiment-${randomUUID()}`, referenceDatasetId: kept.dataset! };
    kept.experiment = (await client.createProject(made)).id;
    const traced = samplePost({ session_id: kept.experiment, reference_example_id: kept.example! });
    await subject.app.call("POST", "/api/v1/runs", { body: { ...traced, session_name: undefined } });
  },
  updateProject: () => client.updateProject(kept.experiment!, { description: "d" }),
  hasProject: async () => expect(await client.hasProject({ projectId: kept.experiment! })).toBe(true),
  getProjectUrl: () => client.getProjectUrl({ projectId: kept.experiment! }),
  listProjects: () => all(client.listProjects({ referenceDatasetId: kept.dataset! })),
  createComparativeExperiment: async () => {
    const made = await client.createComparativeExperiment({
      name: "both",
      experimentIds: [kept.experiment!],
    });
    expect(made).toMatchObject({
      reference_dataset_id: kept.dataset,
      experiments_info: [{ id: kept.experiment }],
    });
  },
  "datasets.experimentRuns.query": async () => {
    const query = { experiment_ids: [kept.experiment!], page_size: 3 };
    const rows = await all(client.datasets.experimentRuns.query(kept.dataset!, query));
    expect(rows).toHaveLength(4);
    expect(rows.find((row) => row.id === kept.example)!.runs).toHaveLength(1);
  },

  createFeedback: async () => {
    kept.feedback = (await client.createFeedback(runId, "ok", { score: 1 })).id;
  },
  updateFeedback: () => client.updateFeedback(kept.feedback!, { score: 0 }),
  readFeedback: () => client.readFeedback(kept.feedback!),
  listFeedback: async () => expect(await all(client.listFeedback({ runIds: [runId] }))).toHaveLength(1),
  logEvaluationFeedback: async () =>
    client.logEvaluationFeedback({ key: "judged", score: 1 }, await client.readRun(runId)),
  createPresignedFeedbackToken: () => client.createPresignedFeedbackToken(runId, "ok"),
  listPresignedFeedbackTokens: async () =>
    expect(await all(client.listPresignedFeedbackTokens(runId))).toHaveLength(1),
  deleteFeedback: () => client.deleteFeedback(kept.feedback!),
  createFeedbackConfig: () =>
    client.createFeedbackConfig({
      feedbackKey: "ok",
      feedbackConfig: { type: "continuous", min: 0, max: 1 },
    }),
  listFeedbackConfigs: async () => expect(await all(client.listFeedbackConfigs())).toHaveLength(1),
  updateFeedbackConfig: () => client.updateFeedbackConfig("ok", { isLowerScoreBetter: true }),
  deleteFeedbackConfig: () => client.deleteFeedbackConfig("ok"),

  createAnnotationQueue: async () => {
    kept.queue = (await client.createAnnotationQueue({ name: "queue", rubricInstructions: "look" })).id;
  },
  readAnnotationQueue: () => client.readAnnotationQueue(kept.queue!),
  listAnnotationQueues: async () =>
    expect(await all(client.listAnnotationQueues({ name: "queue" }))).toHaveLength(1),
  updateAnnotationQueue: () => client.updateAnnotationQueue(kept.queue!, { description: "d" }),
  addRunsToAnnotationQueue: () => client.addRunsToAnnotationQueue(kept.queue!, [runId, secondRun]),
  getSizeFromAnnotationQueue: async () =>
    expect(await client.getSizeFromAnnotationQueue(kept.queue!)).toEqual({ size: 2 }),
  getRunFromAnnotationQueue: async () =>
    expect(await client.getRunFromAnnotationQueue(kept.queue!, 0)).toMatchObject({ id: runId }),
  listRunsFromAnnotationQueue: async () => {
    const runs = await all(client.listRunsFromAnnotationQueue(kept.queue!, { status: "needs_my_review" }));
    expect(runs).toHaveLength(2);
    kept.queueRun = (runs[1] as unknown as { queue_run_id: string }).queue_run_id;
  },
  deleteRunFromAnnotationQueue: () => client.deleteRunFromAnnotationQueue(kept.queue!, kept.queueRun!),
  "annotationQueues.annotationQueues": async () => {
    const made = await client.annotationQueues.annotationQueues({ name: "newer", num_reviewers_per_item: 1 });
    kept.newer = made.id;
  },
  "annotationQueues.retrieve": () => client.annotationQueues.retrieve(kept.newer!),
  "annotationQueues.update": () => client.annotationQueues.update(kept.newer!, { description: "d" }),
  "annotationQueues.retrieveAnnotationQueues": async () =>
    expect(await all(client.annotationQueues.retrieveAnnotationQueues())).toHaveLength(2),
  "annotationQueues.populate": () =>
    client.annotationQueues.populate({ queue_id: kept.newer!, session_ids: [kept.experiment!] }),
  "annotationQueues.runs.create": () => client.annotationQueues.runs.create(kept.newer!, { body: [runId] }),
  "annotationQueues.runs.createByKey": () =>
    client.annotationQueues.runs.createByKey(kept.newer!, {
      body: [{ run_id: secondRun, session_id: kept.project!, start_time: String(run.start_time) }],
    }),
  "annotationQueues.retrieveQueues": async () =>
    expect(await client.annotationQueues.retrieveQueues(runId)).toHaveLength(2),
  "annotationQueues.retrieveRun": () => client.annotationQueues.retrieveRun(1, { queue_id: kept.newer! }),
  "annotationQueues.retrieveSize": async () =>
    expect(await client.annotationQueues.retrieveSize(kept.newer!)).toEqual({ size: 3 }),
  "annotationQueues.retrieveTotalSize": () => client.annotationQueues.retrieveTotalSize(kept.newer!),
  "annotationQueues.runs.list": async () => {
    const runs = await client.annotationQueues.runs.list(kept.newer!);
    kept.item = runs[0]!.queue_run_id;
  },
  "annotationQueues.runs.update": () =>
    client.annotationQueues.runs.update(kept.item!, {
      queue_id: kept.newer!,
      added_at: new Date().toISOString(),
    }),
  "annotationQueues.createRunStatus": () =>
    client.annotationQueues.createRunStatus(kept.item!, { status: "completed" }),
  "annotationQueues.retrieveTotalArchived": async () =>
    expect(await client.annotationQueues.retrieveTotalArchived(kept.newer!)).toEqual({ size: 1 }),
  "annotationQueues.export": async () =>
    expect(await client.annotationQueues.export(kept.newer!, {})).toHaveLength(1),
  "annotationQueues.items.create": async () => {
    const items = [{ item_type: "THREAD" as const, thread_id: "t1", project_id: kept.project! }];
    const made = await client.annotationQueues.items.create(kept.newer!, { items });
    kept.thread = made.items![0]!.id!;
  },
  "annotationQueues.items.list": async () => {
    const query = { status: "needs_my_review" as const, page_size: 1 };
    expect(await all(client.annotationQueues.items.list(kept.newer!, query))).toHaveLength(3);
  },
  "annotationQueues.items.retrieveCount": async () =>
    expect(await client.annotationQueues.items.retrieveCount(kept.newer!, { status: "all" })).toEqual({
      count: 4,
    }),
  "annotationQueues.items.update": () =>
    client.annotationQueues.items.update(kept.thread!, {
      queue_id: kept.newer!,
      last_reviewed_time: new Date().toISOString(),
    }),
  "annotationQueues.items.retrievePlacement": async () =>
    expect(
      await client.annotationQueues.items.retrievePlacement(kept.thread!, { queue_id: kept.newer! }),
    ).toMatchObject({
      section: "needs_my_review",
      position: 2,
      item_type: "THREAD",
    }),
  "annotationQueues.items.createStatus": async () =>
    expect(
      await client.annotationQueues.items.createStatus(kept.thread!, { status: "completed" }),
    ).toMatchObject({
      is_archived: true,
    }),
  "annotationQueues.items.deleteAll": () =>
    client.annotationQueues.items.deleteAll(kept.newer!, { item_ids: [kept.thread!] }),
  "annotationQueues.runs.deleteQueue": () =>
    client.annotationQueues.runs.deleteQueue(kept.item!, { queue_id: kept.newer! }),
  "annotationQueues.runs.deleteAll": async () => {
    await client.annotationQueues.runs.deleteAll(kept.newer!, {
      delete_all: true,
      exclude_run_ids: [secondRun],
    });
    expect(await client.annotationQueues.retrieveTotalSize(kept.newer!)).toEqual({ size: 1 });
  },
  "annotationQueues.delete": () => client.annotationQueues.delete(kept.newer!),
  deleteAnnotationQueue: () => client.deleteAnnotationQueue(kept.queue!),

  deleteExample: () => client.deleteExample(kept.example!),
  deleteExamples: () => client.deleteExamples([kept.example!], { hardDelete: true }),
  deleteDataset: () => client.deleteDataset({ datasetId: kept.dataset! }),
  deleteProject: () => client.deleteProject({ projectName }),
};

function post(id: string) {
  return samplePost({ id, session_name: projectName, start_time: new Date().toISOString() }) as never;
}

/** The methods of an object and of the resources it holds, by their way from the client. */
function methodsOf(resource: object, way = ""): string[] {
  const proto = Object.getPrototypeOf(resource) as object;
  const own = Object.entries(Object.getOwnPropertyDescriptors(proto));
  const methods = own.filter(([name, { value }]) => typeof value === "function" && name !== "constructor");
  const held = Object.entries(resource as Record<string, unknown>).filter(([name]) => name !== "_client");
  return [
    ...methods.map(([name]) => `${way}${name}`),
    ...held.flatMap(([name, value]) => {
      if (typeof value === "function") return [`${way}${name}`];
      return typeof value === "object" && value !== null ? methodsOf(value, `${way}${name}.`) : [];
    }),
  ];
}

test("every method of the client is listed", () => {
  const own = Object.getOwnPropertyDescriptors(Client.prototype) as Record<string, PropertyDescriptor>;
  const methods = Object.keys(own).filter(
    (name) => typeof own[name]!.value === "function" && name !== "constructor",
  );
  const resources = [
    "runs",
    "datasets",
    "annotationQueues",
    "threads",
    "traces",
    "public",
    "evaluators",
  ] as const;
  const known = new Set([...resources, "sandboxes", "openAPIClient", "headers", "tracingMode"]);
  const getters = Object.keys(own).filter((name) => own[name]!.get && !name.startsWith("_"));
  expect(getters.filter((name) => !known.has(name as "runs"))).toEqual([]);
  const found = [
    ...methods.filter((name) => !name.startsWith("_")),
    ...resources.flatMap((name) => methodsOf(client[name], `${name}.`)),
  ].sort();
  expect(found).toEqual([...new Set([...Object.keys(calls), ...notServed, ...local])].sort());
});

describe("is served", () => {
  test.each(Object.keys(calls))("%s", async (name) => {
    await calls[name]!();
  });
});

test("what is no part of tracing says so", async () => {
  await expect(client.createPrompt("mine")).rejects.toThrow(/404/);
  await expect(client.evaluators.list()).rejects.toThrow(/404/);
});
