import { randomUUID } from "node:crypto";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import {
  deleteShare,
  findShare,
  findShareOf,
  insertShare,
  type Share,
  type ShareKind,
} from "./share-store.ts";

/** What everyone with a token can read. */
export class ShareService {
  readonly #sql: Sql;

  constructor(options: { database: Database }) {
    this.#sql = options.database.sql;
  }

  /** A run that is already shared keeps its token, even if another one is requested. */
  async share(
    workspaceId: string,
    kind: ShareKind,
    targetId: string,
    wished: string = randomUUID(),
  ): Promise<Share> {
    await insertShare(this.#sql, { token: wished, workspace_id: workspaceId, kind, target_id: targetId });
    const found = await findShareOf(this.#sql, workspaceId, kind, targetId);
    if (found) return found;
    throw new AppError({
      code: "traces.share_token_taken",
      kind: "conflict",
      message: "This share token is taken. Send another, or none.",
    });
  }

  find(workspaceId: string, kind: ShareKind, targetId: string): Promise<Share | undefined> {
    return findShareOf(this.#sql, workspaceId, kind, targetId);
  }

  unshare(workspaceId: string, kind: ShareKind, targetId: string): Promise<void> {
    return deleteShare(this.#sql, workspaceId, kind, targetId);
  }

  /** What a token opens. The same answer for one that never existed and one that was revoked. */
  async open(token: string, kind: ShareKind): Promise<Share> {
    const found = await findShare(this.#sql, token, kind);
    if (!found) throw notShared();
    return found;
  }
}

export function notShared(): AppError {
  return new AppError({
    code: "traces.not_shared",
    kind: "not_found",
    message: "Nothing is shared under this token. It may have been withdrawn; ask for a new link.",
  });
}
