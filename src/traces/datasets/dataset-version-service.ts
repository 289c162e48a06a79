import type { Database } from "../../platform/db/database.ts";
import { invalidField } from "../../platform/errors.ts";
import type { DatasetService } from "./dataset-service.ts";
import {
  type AsOf,
  type DatasetDiff,
  type DatasetVersion,
  readAsOf,
  versionNotFound,
} from "./dataset-version.ts";
import {
  diffVersions,
  findTaggedVersion,
  findVersionAt,
  listSplits,
  listVersions,
  moveTag,
} from "./dataset-version-store.ts";

export type DatasetVersionService = ReturnType<typeof createDatasetVersionService>;

export function createDatasetVersionService(options: { database: Database; datasets: DatasetService }) {
  const { database, datasets } = options;
  const { sql } = database;

  async function find(workspaceId: string, datasetId: string, asOf: AsOf): Promise<DatasetVersion> {
    await datasets.get(workspaceId, datasetId);
    const found =
      asOf.kind === "tag"
        ? await findTaggedVersion(sql, datasetId, asOf.tag)
        : await findVersionAt(sql, datasetId, asOf.kind === "time" ? asOf.time : null);
    if (!found) throw versionNotFound(datasetId, asOf);
    return found;
  }

  return {
    find: (workspaceId: string, datasetId: string, asOf: string) =>
      find(workspaceId, datasetId, readAsOf(asOf)),
    /** The time a caller means by a version; undefined: now. A time is taken as it is. */
    async timeOf(
      workspaceId: string,
      datasetId: string | undefined,
      text: string | undefined,
    ): Promise<string | undefined> {
      const asOf = readAsOf(text);
      if (asOf.kind === "latest") return undefined;
      if (asOf.kind === "time") return asOf.time;
      if (datasetId === undefined)
        throw invalidField(["query", "as_of"], "must be a time, or a tag of the dataset that is named too");
      return (await find(workspaceId, datasetId, asOf)).as_of;
    },
    async list(workspaceId: string, datasetId: string, page: Parameters<typeof listVersions>[2]) {
      await datasets.get(workspaceId, datasetId);
      return listVersions(sql, datasetId, page);
    },
    /** The version that held at that time gets the tag; it is taken from the version that had it. */
    async tag(workspaceId: string, datasetId: string, tag: string, asOf: string): Promise<DatasetVersion> {
      const found = await find(workspaceId, datasetId, readAsOf(asOf));
      await moveTag(sql, datasetId, tag, found.as_of);
      return find(workspaceId, datasetId, { kind: "tag", tag });
    },
    async diff(workspaceId: string, datasetId: string, from: string, to: string): Promise<DatasetDiff> {
      const [before, after] = [
        await find(workspaceId, datasetId, readAsOf(from)),
        await find(workspaceId, datasetId, readAsOf(to)),
      ];
      return diffVersions(sql, datasetId, before.as_of, after.as_of);
    },
    async splits(workspaceId: string, datasetId: string, asOf: string | undefined): Promise<string[]> {
      await datasets.get(workspaceId, datasetId);
      return listSplits(sql, datasetId, await this.timeOf(workspaceId, datasetId, asOf));
    },
  };
}
