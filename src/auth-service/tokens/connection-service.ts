import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { type Caller, roleCovers } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import type { Connection } from "./connection-store.ts";
import * as store from "./connection-store.ts";
import type { TokenRemoval } from "./token-removal-service.ts";
import type { TokenImport, TokenService } from "./token-service.ts";
import { findToken } from "./token-store.ts";

type ConnectionServiceOptions = {
  database: Database;
  clock: Clock;
  tokens: TokenService;
  removal: TokenRemoval;
};

/** Which tokens an agent may use. */
export class ConnectionService {
  readonly #options: ConnectionServiceOptions;

  constructor(options: ConnectionServiceOptions) {
    this.#options = options;
  }

  list(caller: Caller, agentId: string): Promise<Connection[]> {
    return store.listConnections(this.#options.database.sql, caller.workspaceId, agentId);
  }

  /** The token must be the caller's own. */
  async link(caller: Caller, agentId: string, tokenId: string): Promise<Connection> {
    const { tokens, database } = this.#options;
    await tokens.own(caller, tokenId);
    const { workspaceId, userId } = caller;
    await this.bind(database.sql, { workspaceId, agentId, tokenId, createdBy: userId });
    const made = await store.findConnectionOfToken(database.sql, workspaceId, agentId, tokenId);
    if (!made) throw connectionNotFound(tokenId);
    return made;
  }

  /** By who linked it, or by an admin. */
  async unlink(caller: Caller, agentId: string, id: string): Promise<void> {
    const { database } = this.#options;
    const connection = await store.findConnection(database.sql, caller.workspaceId, agentId, id);
    if (!connection) throw connectionNotFound(id);
    if (connection.created_by !== caller.userId && !roleCovers(caller.role, "admin")) {
      throw new AppError({
        code: "connection.not_owner",
        kind: "forbidden",
        message: "Only the user who linked a token to an agent, or an admin, may unlink it.",
      });
    }
    await store.deleteConnection(database.sql, caller.workspaceId, id);
  }

  /** Imports a token for the agent alone; an earlier one of the same provider is unlinked. */
  async importFor(caller: Caller, agentId: string, request: TokenImport): Promise<Connection> {
    const { database, tokens, removal } = this.#options;
    const earlier = (await store.listConnections(database.sql, caller.workspaceId, agentId)).filter(
      (connection) => connection.provider_id === request.provider_id,
    );
    const tokenId = await tokens.import(caller, request, agentId);
    const made = await this.link(caller, agentId, tokenId);
    for (const old of earlier) {
      if (old.oauth_token_id === tokenId) continue;
      await store.deleteConnection(database.sql, caller.workspaceId, old.id);
      const token = await findToken(database.sql, caller.workspaceId, old.oauth_token_id);
      // A token made for this agent alone has no other use; a lent token still belongs to its owner.
      const isAgents = token?.agent_id === agentId && token.owner_id === caller.userId;
      if (isAgents && !(await store.isTokenShared(database.sql, old.oauth_token_id, agentId))) {
        await removal.remove(caller, old.oauth_token_id, true);
      }
    }
    return made;
  }

  /** In the caller's transaction; after a consent for the agent itself. */
  async bind(
    tx: Sql,
    link: { workspaceId: string; agentId: string; tokenId: string; createdBy: string },
  ): Promise<void> {
    await store.insertConnection(tx, { id: newId(), ...link }, this.#options.clock.now());
  }
}

function connectionNotFound(id: string): AppError {
  return new AppError({
    code: "connection.not_found",
    kind: "not_found",
    message: `Connection ${id} not found.`,
  });
}
