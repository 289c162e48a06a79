import { AppError } from "../../platform/errors.ts";
import { readTime } from "../wire/wire-time.ts";

/** A time at which a dataset changed, and the tags that point at it. */
export type DatasetVersion = { as_of: string; tags: string[] };

export type DatasetDiff = {
  examples_added: string[];
  examples_modified: string[];
  examples_removed: string[];
};

/** Always names the newest version; users cannot create a tag of this name. */
export const latestTag = "latest";

/** What a caller means by a version: a time, or the name of a tag. */
export type AsOf = { kind: "time"; time: string } | { kind: "tag"; tag: string } | { kind: "latest" };

export function readAsOf(text: string | undefined): AsOf {
  if (text === undefined || text === latestTag) return { kind: "latest" };
  const time = readTime(text);
  if (time === null) return { kind: "tag", tag: text };
  // A client's clock counts milliseconds, the database's microseconds: all that happened within the moment belongs to it.
  const isExact = /[.,]\d{4,}/.test(text);
  return { kind: "time", time: isExact ? time : `${time.slice(0, 23)}999Z` };
}

export function versionNotFound(datasetId: string, asOf: AsOf): AppError {
  const which = asOf.kind === "tag" ? `tagged "${asOf.tag.slice(0, 100)}"` : "at or before that time";
  return new AppError({
    code: "traces.dataset_version_not_found",
    kind: "not_found",
    message: `Dataset ${datasetId} has no version ${which}. GET /api/v1/datasets/${datasetId}/versions lists them.`,
  });
}
