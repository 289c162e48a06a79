import { AppError, errorMessage } from "../errors.ts";
import type { BlobFailureCode } from "./blob-failure-code.ts";
import { platformFailure } from "./platform-failure.ts";

export function isMissing(error: unknown): boolean {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}

/** What the system says about the folder, with what to change. What is no word of the system's is a defect and stays one. */
export function folderFailure(error: unknown, folder: string): Error {
  if (error instanceof AppError || !(error instanceof Error)) return error as Error;
  const { code } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : byCode[code];
  if (known) return platformFailure(known.code, known.words(folder), error);
  if (code === undefined || !/^E[A-Z]+$/.test(code)) return error;
  return platformFailure("blob.refused", `The folder ${folder} refused: ${errorMessage(error)}.`, error);
}

const full = {
  code: "blob.full",
  words: (folder: string) => `The disk of the folder ${folder} is full. Free some space.`,
} as const;
const closed = {
  code: "blob.no_permission",
  words: (folder: string) => `The folder ${folder} cannot be written by the user Treadle runs as.`,
} as const;
const away = {
  code: "blob.unreachable",
  words: (folder: string) => `The folder ${folder} cannot be reached. Check that it is mounted.`,
} as const;

const byCode: Record<string, { code: BlobFailureCode; words(folder: string): string }> = {
  ENOSPC: full,
  EDQUOT: full,
  EACCES: closed,
  EPERM: closed,
  EROFS: closed,
  EIO: away,
  ESTALE: away,
  ENOTCONN: away,
  EHOSTDOWN: away,
  ETIMEDOUT: away,
};
