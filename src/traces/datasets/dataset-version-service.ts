import type { Database, Sql } from "../../platform/db/database.ts";
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

/** Versions of datasets, by time and by tag. */
export class DatasetVersionService {
  readonly #datasets: DatasetService;
  readonly #sql: Sql;

  constructor(options: { database: Database; datasets: DatasetService }) {
    this.#datasets = options.datasets;
    this.#sql = options.database.sql;
  }

  find(workspaceId: string, datasetId: string, asOf: string): Promise<DatasetVersion> {
    return this.#find(workspaceId, datasetId, readAsOf(asOf));
  }

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
      throw invalidField(["query", "as_of"], "must be a time, or a tag of the dataset in the request");
    return (await this.#find(workspaceId, datasetId, asOf)).as_of;
  }

  async list(workspaceId: string, datasetId: string, page: Parameters<typeof listVersions>[2]) {
    await this.#datasets.get(workspaceId, datasetId);
    return listVersions(this.#sql, datasetId, page);
  }

  /** The version that held at that time gets the tag; it is taken from the version that had it. */
  async tag(workspaceId: string, datasetId: string, tag: string, asOf: string): Promise<DatasetVersion> {
    const found = await this.#find(workspaceId, datasetId, readAsOf(asOf));
    await moveTag(this.#sql, datasetId, tag, found.as_of);
    return this.#find(workspaceId, datasetId, { kind: "tag", tag });
  }

  async diff(workspaceId: string, datasetId: string, from: string, to: string): Promise<DatasetDiff> {
    const [before, after] = [
      await this.#find(workspaceId, datasetId, readAsOf(from)),
      await this.#find(workspaceId, datasetId, readAsOf(to)),
    ];
    return diffVersions(this.#sql, datasetId, before.as_of, after.as_of);
  }

  async splits(workspaceId: string, datasetId: string, asOf: string | undefined): Promise<string[]> {
    await this.#datasets.get(workspaceId, datasetId);
    return listSplits(this.#sql, datasetId, await this.timeOf(workspaceId, datasetId, asOf));
  }

  async #find(workspaceId: string, datasetId: string, asOf: AsOf): Promise<DatasetVersion> {
    await this.#datasets.get(workspaceId, datasetId);
    const found =
      asOf.kind === "tag"
        ? await findTaggedVersion(this.#sql, datasetId, asOf.tag)
        : await findVersionAt(this.#sql, datasetId, asOf.kind === "time" ? asOf.time : null);
    if (!found) throw versionNotFound(datasetId, asOf);
    return found;
  }
}
