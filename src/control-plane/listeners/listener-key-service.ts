import type { Sql } from "../../platform/db/database.ts";
import { AppError, invalidField } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { scopesCover } from "../../platform/http/access/scope.ts";
import { bindKey, findListenerOfKey, isListenerKey } from "./listener-key-store.ts";

/** The first use of a key binds it to the listener it is used for; from then on it acts for no other. */
export async function requireOwnKey(sql: Sql, caller: Caller, listenerId: string): Promise<void> {
  // The routes are for keys alone; this also holds for a way that gives no key.
  const bound = caller.apiKeyId && (await bindKey(sql, caller.apiKeyId, listenerId));
  if (bound !== listenerId) throw ofAnother();
}

/** Reading binds no key, and a key that may read every listener anyway may read this one. */
export async function requireReadableBy(sql: Sql, caller: Caller, listenerId: string): Promise<void> {
  if (caller.apiKeyId === undefined || scopesCover(caller.scopes, ["read", "deploy"])) return;
  const bound = await findListenerOfKey(sql, caller.apiKeyId);
  if (bound !== undefined && bound !== listenerId) throw ofAnother();
}

/** By whoever administers the workspace, before the first use. */
export async function bindTo(
  sql: Sql,
  { workspaceId, listenerId, apiKeyId }: { workspaceId: string; listenerId: string; apiKeyId: string },
): Promise<void> {
  if (!(await isListenerKey(sql, workspaceId, apiKeyId)))
    throw invalidField(
      ["body", "api_key_id"],
      "Must be a key of this workspace with the scope listener",
      apiKeyId,
    );
  if ((await bindKey(sql, apiKeyId, listenerId)) !== listenerId)
    throw new AppError({ code: "listener.key_bound", kind: "conflict", message });
}

const message =
  "This key acts for another listener, and each key acts for one. Make one for this listener with `treadle keys create NAME --service --scope listener --expires never`, and start the listener with that.";

function ofAnother(): AppError {
  return new AppError({ code: "listener.key_of_another", kind: "forbidden", message });
}
