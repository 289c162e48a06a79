import { openS3BlobStore } from "../../platform/blob/open-s3-blob-store.ts";
import type { Clock } from "../../platform/clock.ts";
import { AppError } from "../../platform/errors.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import { addressInBucket, type DestinationConfig } from "../destinations/destination.ts";
import { storageSilent } from "../destinations/destination-check.ts";
import type { DestinationService } from "../destinations/destination-service.ts";
import { partName } from "../partitions/partition-task.ts";
import type { ExportLimits } from "./export-limits.ts";
import type { ExportService } from "./export-service.ts";

/** A download may take longer: the storage looks at the time only when it begins. */
const linkSeconds = 300;

export type FileLinksOptions = {
  clock: Clock;
  limits: ExportLimits;
  network: NetworkGuard;
  destinations: DestinationService;
  exports: ExportService;
};

export type FileLink = { url: string; expiresAt: Date };

/** Links by which a browser without credentials downloads a file of an export. They are not stored. */
export class FileLinks {
  readonly #options: FileLinksOptions;

  constructor(options: FileLinksOptions) {
    this.#options = options;
  }

  /** Only for what can be downloaded: the file is looked for with the same credentials. */
  async create(
    workspaceId: string,
    file: { exportId: string; partitionId: string; part: number },
  ): Promise<FileLink> {
    const { exports, destinations, limits, network, clock } = this.#options;
    const { partition, destination } = await exports.getPartition(
      workspaceId,
      file.exportId,
      file.partitionId,
    );
    const found = partition.files[file.part];
    if (!found) throw fileNotFound(file.part, partition.files.length);
    const { config } = destination;
    const settings = destinations.settingsOf(destination);
    const deadline = AbortSignal.timeout(limits.checkTimeoutMs);
    const store = await openS3BlobStore({
      settings,
      network,
      signal: deadline,
      connectTimeoutMs: Math.min(5_000, limits.checkTimeoutMs),
      attempts: 2,
    });
    try {
      if ((await store.head(found.path)) === null) throw fileGone(addressInBucket(config, found.path));
      const fileName = `${partition.start_time.slice(0, 10)}-${partName(file.part)}`;
      const url = await store.signedUrl(found.path, linkSeconds, { fileName });
      return { url, expiresAt: new Date(clock.now().getTime() + linkSeconds * 1_000) };
    } catch (error) {
      if (deadline.aborted) throw storageSilent(settings);
      throw isRefusal(error) ? fileUnreadable(config, error) : error;
    } finally {
      store.close();
    }
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof AppError && error.code === "blob.no_permission";
}

function fileNotFound(part: number, files: number): AppError {
  return new AppError({
    code: "bulk_export.file_not_found",
    kind: "not_found",
    message: `This run has no file ${part}: it has written ${files === 1 ? "1 file" : `${files} files`}, numbered from 0.`,
  });
}

function fileGone(address: string): AppError {
  return new AppError({
    code: "bulk_export.file_gone",
    kind: "not_found",
    message: `${address} is not in the bucket any more.`,
  });
}

function fileUnreadable(config: DestinationConfig, cause: unknown): AppError {
  return new AppError({
    code: "bulk_export.file_unreadable",
    kind: "conflict",
    message: `The destination's credentials may not read ${config.bucket_name ?? "the bucket"}. Allow them s3:GetObject under the prefix, or read the file with credentials of your own.`,
    cause,
  });
}
