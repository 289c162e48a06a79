import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { RunReading } from "../storage/run-storage.ts";
import {
  attachmentNotFound,
  type Dataset,
  datasetNameTaken,
  datasetNotFound,
  type Example,
  exampleNotFound,
} from "./dataset.ts";
import {
  type DatasetChange,
  type DatasetFilter,
  deleteDataset,
  findDataset,
  insertDataset,
  listDatasets,
  type NewDataset,
  updateDataset,
} from "./dataset-store.ts";
import { beginVersion, findVersionAt, insertFirstVersion, listSplits } from "./dataset-version-store.ts";
import {
  type KeptAttachments,
  keepExampleAttachments,
  listExampleAttachments,
  type NewExampleAttachment,
  readExampleAttachment,
  saveExampleAttachment,
} from "./example-attachment-store.ts";
import { readSourceRuns, takeFromSourceRuns } from "./example-source-run.ts";
import {
  changeSplit,
  deleteExamples,
  type ExampleChange,
  type ExampleFilter,
  findExample,
  forgetExamples,
  insertExamples,
  listDatasetsOf,
  listExamples,
  type NewExample,
  updateExample,
} from "./example-store.ts";

export type ChangedExample = {
  id: string;
  change: ExampleChange;
  kept?: KeptAttachments | undefined;
  attachments?: NewExampleAttachment[] | undefined;
};

/** A statement has a limited number of parameters. */
const insertAtOnce = 1_000;

/** Datasets and their examples; every change of examples begins a version. */
export class DatasetService {
  readonly #database: Database;
  readonly #runs: RunReading;
  readonly #sql: Sql;

  constructor(options: { database: Database; runs: RunReading }) {
    this.#database = options.database;
    this.#runs = options.runs;
    this.#sql = options.database.sql;
  }

  async get(workspaceId: string, id: string): Promise<Dataset> {
    const found = await findDataset(this.#sql, workspaceId, id);
    if (!found) throw datasetNotFound(id);
    return found;
  }

  create(dataset: Omit<NewDataset, "id"> & { id?: string }): Promise<Dataset> {
    return this.#database.transaction((tx) => this.#insert(tx, dataset));
  }

  /** With its examples in one go, in its first version. */
  createWith(
    dataset: Omit<NewDataset, "id"> & { id?: string },
    examples: readonly NewExample[],
  ): Promise<Dataset> {
    const { workspaceId } = dataset;
    return this.#database.transaction(async (tx) => {
      const { id: datasetId } = await this.#insert(tx, dataset);
      const version = (await findVersionAt(tx, datasetId, null))!.as_of;
      await insertAll(tx, { workspaceId, datasetId, version }, examples);
      return (await findDataset(tx, workspaceId, datasetId))!;
    });
  }

  list(workspaceId: string, filter: DatasetFilter): Promise<Dataset[]> {
    return listDatasets(this.#sql, workspaceId, filter);
  }

  async update(workspaceId: string, id: string, change: DatasetChange): Promise<Dataset> {
    const taken =
      change.name === undefined
        ? []
        : await listDatasets(this.#sql, workspaceId, { name: change.name, limit: 1, offset: 0 });
    if (taken.some((dataset) => dataset.id !== id)) throw datasetNameTaken(change.name!);
    const updated = await updateDataset(this.#sql, workspaceId, id, change);
    if (!updated) throw datasetNotFound(id);
    return updated;
  }

  async remove(workspaceId: string, id: string): Promise<void> {
    if (!(await deleteDataset(this.#sql, workspaceId, id))) throw datasetNotFound(id);
  }

  /** All of them, or none. */
  async addExamples(
    workspaceId: string,
    datasetId: string,
    examples: readonly NewExample[],
    attachments: readonly NewExampleAttachment[] = [],
  ): Promise<{ ids: string[]; version: string }> {
    const sources = await readSourceRuns(this.#runs, workspaceId, examples);
    return this.#database.transaction(async (tx) => {
      const version = await this.#begin(tx, workspaceId, datasetId);
      const whole = await takeFromSourceRuns(tx, workspaceId, examples, sources);
      const ids = await insertAll(tx, { workspaceId, datasetId, version }, whole.examples);
      if (ids.length < examples.length) throw exampleExists();
      for (const attachment of [...whole.attachments, ...attachments])
        await saveExampleAttachment(tx, workspaceId, attachment);
      return { ids: examples.map((example) => example.id), version };
    });
  }

  /** Adds those that are new and changes the others: all of them, or none. */
  upsertExamples(
    workspaceId: string,
    datasetId: string,
    sent: readonly (ChangedExample & { added: NewExample })[],
  ): Promise<{ ids: string[]; version: string }> {
    return this.#database.transaction(async (tx) => {
      const version = await this.#begin(tx, workspaceId, datasetId);
      const place = { workspaceId, datasetId, version };
      const added = new Set(
        await insertAll(
          tx,
          place,
          sent.map((each) => each.added),
        ),
      );
      for (const { id, change, attachments = [] } of sent) {
        const isKnown = added.has(id) || (await updateExample(tx, place, id, change)) !== undefined;
        if (!isKnown) throw exampleExists();
        for (const attachment of attachments) await saveExampleAttachment(tx, workspaceId, attachment);
      }
      return { ids: sent.map((each) => each.id), version };
    });
  }

  async getExample(workspaceId: string, id: string, asOf?: string): Promise<Example> {
    const found = await findExample(this.#sql, workspaceId, id, asOf);
    if (!found) throw exampleNotFound(id);
    return found;
  }

  listExamples(workspaceId: string, filter: ExampleFilter): Promise<Example[]> {
    return listExamples(this.#sql, workspaceId, filter);
  }

  attachmentsOf(workspaceId: string, exampleIds: readonly string[]) {
    return listExampleAttachments(this.#sql, workspaceId, exampleIds);
  }

  async getAttachment(workspaceId: string, exampleId: string, name: string) {
    const found = await readExampleAttachment(this.#sql, workspaceId, exampleId, name);
    if (!found) throw attachmentNotFound(exampleId, name);
    return found;
  }

  /** All of them, or none; of one dataset when it is named. */
  updateExamples(
    workspaceId: string,
    changes: readonly ChangedExample[],
    datasetId?: string,
  ): Promise<{ examples: Example[]; version: string | undefined }> {
    return this.#database.transaction(async (tx) => {
      const ids = changes.map((change) => change.id);
      const versions = await this.#beginAll(
        tx,
        workspaceId,
        datasetId ? [datasetId] : ids,
        datasetId !== undefined,
      );
      const examples: Example[] = [];
      let latest: string | undefined;
      for (const { id, change, kept, attachments = [] } of changes) {
        const of = await findExample(tx, workspaceId, id);
        const version = of && versions.get(of.dataset_id);
        if (!version) throw exampleNotFound(id);
        const example = await updateExample(tx, { workspaceId, version, datasetId }, id, change);
        if (!example) throw exampleNotFound(id);
        if (kept) await keepExampleAttachments(tx, workspaceId, id, kept);
        for (const attachment of attachments) await saveExampleAttachment(tx, workspaceId, attachment);
        examples.push(example);
        latest = version;
      }
      return { examples, version: latest };
    });
  }

  async removeExample(workspaceId: string, id: string): Promise<void> {
    if ((await this.removeExamples(workspaceId, [id])) === 0) throw exampleNotFound(id);
  }

  /** From the newest version on. Earlier ones keep them, unless they are to be forgotten. How many there were. */
  removeExamples(
    workspaceId: string,
    ids: readonly string[],
    options: { forget?: boolean } = {},
  ): Promise<number> {
    return this.#database.transaction(async (tx) => {
      let count = 0;
      for (const [datasetId, version] of await this.#beginAll(tx, workspaceId, ids))
        count += await deleteExamples(tx, { workspaceId, datasetId, version }, ids, options);
      if (options.forget) await forgetExamples(tx, workspaceId, ids);
      return count;
    });
  }

  /** The dataset's splits afterwards. */
  updateSplit(
    workspaceId: string,
    datasetId: string,
    change: { split: string; ids: readonly string[]; remove: boolean },
  ): Promise<string[]> {
    return this.#database.transaction(async (tx) => {
      const version = await this.#begin(tx, workspaceId, datasetId);
      const changed = await changeSplit(tx, { workspaceId, datasetId }, change);
      const found = new Set(changed.map((each) => each.id));
      const missing = change.ids.find((id) => !found.has(id));
      if (missing) throw exampleNotFound(missing);
      for (const { id, splits } of changed)
        await updateExample(tx, { workspaceId, version, datasetId }, id, { split: splits });
      return listSplits(tx, datasetId, undefined);
    });
  }

  async #begin(tx: Sql, workspaceId: string, datasetId: string): Promise<string> {
    const version = await beginVersion(tx, workspaceId, datasetId);
    if (!version) throw datasetNotFound(datasetId);
    return version;
  }

  /** A version of each dataset that one of these examples is in, by dataset. */
  async #beginAll(
    tx: Sql,
    workspaceId: string,
    ids: readonly string[],
    areDatasets = false,
  ): Promise<Map<string, string>> {
    const versions = new Map<string, string>();
    for (const id of areDatasets ? ids : await listDatasetsOf(tx, workspaceId, ids))
      versions.set(id, await this.#begin(tx, workspaceId, id));
    return versions;
  }

  async #insert(tx: Sql, dataset: Omit<NewDataset, "id"> & { id?: string }): Promise<Dataset> {
    const made = await insertDataset(tx, { ...dataset, id: dataset.id ?? newId() });
    if (!made) throw datasetNameTaken(dataset.name);
    await insertFirstVersion(tx, made.id);
    return made;
  }
}

function exampleExists(): AppError {
  return new AppError({
    code: "traces.example_exists",
    kind: "conflict",
    message: "An example with one of these ids exists already; none was added. Send new ids, or none.",
  });
}

async function insertAll(
  tx: Sql,
  place: Parameters<typeof insertExamples>[1],
  examples: readonly NewExample[],
): Promise<string[]> {
  const ids: string[] = [];
  for (let from = 0; from < examples.length; from += insertAtOnce)
    ids.push(...(await insertExamples(tx, place, examples.slice(from, from + insertAtOnce))));
  return ids;
}
