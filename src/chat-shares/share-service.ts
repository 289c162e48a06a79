import { randomUUID } from "node:crypto";
import type { Database, Sql } from "../platform/db/database.ts";
import { AppError } from "../platform/errors.ts";
import { type Share, shownMessages } from "./share.ts";
import { deleteShare, findShare, findShareOf, upsertShare } from "./share-store.ts";

type Place = Pick<Share, "workspace_id" | "server" | "thread">;
type Given = Place & Pick<Share, "user_id" | "title"> & { messages: Record<string, unknown>[] };

/** Conversations that everyone with the link can read. */
export class ShareService {
  readonly #sql: Sql;

  constructor(options: { database: Database }) {
    this.#sql = options.database.sql;
  }

  share({ messages, ...given }: Given): Promise<Pick<Share, "token" | "created_at">> {
    const messages_json = JSON.stringify(shownMessages(messages));
    return upsertShare(this.#sql, { ...given, token: randomUUID(), messages_json });
  }

  async find(place: Place): Promise<Pick<Share, "token" | "created_at">> {
    const found = await findShareOf(this.#sql, place);
    if (!found) throw notShared("This conversation is not shared. PUT /v2/chat/shares shares it.");
    return found;
  }

  unshare(place: Place): Promise<void> {
    return deleteShare(this.#sql, place);
  }

  /** The same answer for a token that never existed and one that was revoked. */
  async open(token: string): Promise<Share> {
    const found = await findShare(this.#sql, token);
    if (!found)
      throw notShared("Nothing is shared under this link. It may have been withdrawn; ask for a new one.");
    return found;
  }
}

function notShared(message: string): AppError {
  return new AppError({ code: "chat_share.not_found", kind: "not_found", message });
}
