import type { Database } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { OwnDeployments, OwnRevisions } from "../desired-state/caller-access.ts";
import type { LogRow } from "./log.ts";
import { type LogQuery, readLogs } from "./log-store.ts";

/** Lines are looked up by deployment, so whether the caller may see that one is asked first. */
export class LogService {
  readonly #database: Database;
  readonly #deployments: OwnDeployments;
  readonly #revisions: OwnRevisions;

  constructor(options: { database: Database; deployments: OwnDeployments; revisions: OwnRevisions }) {
    this.#database = options.database;
    this.#deployments = options.deployments;
    this.#revisions = options.revisions;
  }

  async read(caller: Caller, query: LogQuery): Promise<LogRow[]> {
    if (query.revisionId === undefined) await this.#deployments.load(caller, query.deploymentId);
    else await this.#revisions.load(caller, query.deploymentId, query.revisionId);
    return readLogs(this.#database.sql, query);
  }
}
