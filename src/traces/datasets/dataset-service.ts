import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
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
import {
  type KeptAttachments,
  keepExampleAttachments,
  listExampleAttachments,
  type NewExampleAttachment,
  readExampleAttachment,
  saveExampleAttachment,
} from "./example-attachment-store.ts";
import {
  deleteExamples,
  type ExampleChange,
  type ExampleFilter,
  findExample,
  insertExamples,
  listExamples,
  type NewExample,
  touchDataset,
  updateExample,
} from "./example-store.ts";

export type ChangedExample = {
  id: string;
  change: ExampleChange;
  kept?: KeptAttachments | undefined;
  attachments?: NewExampleAttachment[] | undefined;
};

export type DatasetService = ReturnType<typeof createDatasetService>;

export function createDatasetService(options: { database: Database }) {
  const { database } = options;
  const { sql } = database;

  async function get(workspaceId: string, id: string): Promise<Dataset> {
    const found = await findDataset(sql, workspaceId, id);
    if (!found) throw datasetNotFound(id);
    return found;
  }

  return {
    get,
    async create(dataset: Omit<NewDataset, "id"> & { id?: string }): Promise<Dataset> {
      const made = await insertDataset(sql, { ...dataset, id: dataset.id ?? newId() });
      if (!made) throw datasetNameTaken(dataset.name);
      return made;
    },
    list: (workspaceId: string, filter: DatasetFilter): Promise<Dataset[]> =>
      listDatasets(sql, workspaceId, filter),
    async update(workspaceId: string, id: string, change: DatasetChange): Promise<Dataset> {
      const taken =
        change.name === undefined
          ? []
          : await listDatasets(sql, workspaceId, { name: change.name, limit: 1, offset: 0 });
      if (taken.some((dataset) => dataset.id !== id)) throw datasetNameTaken(change.name!);
      const updated = await updateDataset(sql, workspaceId, id, change);
      if (!updated) throw datasetNotFound(id);
      return updated;
    },
    async remove(workspaceId: string, id: string): Promise<void> {
      if (!(await deleteDataset(sql, workspaceId, id))) throw datasetNotFound(id);
    },

    /** All of them, or none. */
    async addExamples(
      workspaceId: string,
      datasetId: string,
      examples: readonly NewExample[],
      attachments: readonly NewExampleAttachment[] = [],
    ): Promise<string[]> {
      await get(workspaceId, datasetId);
      return database.transaction(async (tx) => {
        const ids = await insertExamples(tx, { workspaceId, datasetId }, examples);
        if (ids.length < examples.length) {
          throw new AppError({
            code: "traces.example_exists",
            kind: "conflict",
            message:
              "An example with one of these ids exists already; none was added. Send new ids, or none.",
          });
        }
        for (const attachment of attachments) await saveExampleAttachment(tx, workspaceId, attachment);
        await touchDataset(tx, datasetId);
        return examples.map((example) => example.id);
      });
    },
    async getExample(workspaceId: string, id: string): Promise<Example> {
      const found = await findExample(sql, workspaceId, id);
      if (!found) throw exampleNotFound(id);
      return found;
    },
    listExamples: (workspaceId: string, filter: ExampleFilter): Promise<Example[]> =>
      listExamples(sql, workspaceId, filter),
    attachmentsOf: (workspaceId: string, exampleIds: readonly string[]) =>
      listExampleAttachments(sql, workspaceId, exampleIds),
    async getAttachment(workspaceId: string, exampleId: string, name: string) {
      const found = await readExampleAttachment(sql, workspaceId, exampleId, name);
      if (!found) throw attachmentNotFound(exampleId, name);
      return found;
    },
    /** All of them, or none. */
    updateExamples(workspaceId: string, changes: readonly ChangedExample[]): Promise<Example[]> {
      return database.transaction(async (tx) => {
        const updated: Example[] = [];
        for (const { id, change, kept, attachments = [] } of changes) {
          const example = await updateExample(tx, workspaceId, id, change);
          if (!example) throw exampleNotFound(id);
          if (kept) await keepExampleAttachments(tx, workspaceId, id, kept);
          for (const attachment of attachments) await saveExampleAttachment(tx, workspaceId, attachment);
          updated.push(example);
        }
        return updated;
      });
    },
    async removeExample(workspaceId: string, id: string): Promise<void> {
      if ((await deleteExamples(sql, workspaceId, [id])) === 0) throw exampleNotFound(id);
    },
    async removeExamples(workspaceId: string, ids: readonly string[]): Promise<void> {
      await deleteExamples(sql, workspaceId, ids);
    },
  };
}
