import type { Caller } from "../../platform/http/access/caller.ts";
import type { OwnDeployments, OwnRevisions } from "../desired-state/caller-access.ts";
import type { LogPage, LogReader } from "./log-reader.ts";
import type { LogQuery } from "./log-store.ts";

/** Lines are looked up by deployment, so whether the caller may see that one is asked first. */
export class LogService {
  readonly #reader: LogReader;
  readonly #deployments: OwnDeployments;
  readonly #revisions: OwnRevisions;

  constructor(options: { reader: LogReader; deployments: OwnDeployments; revisions: OwnRevisions }) {
    this.#reader = options.reader;
    this.#deployments = options.deployments;
    this.#revisions = options.revisions;
  }

  async read(caller: Caller, query: LogQuery, signal?: AbortSignal): Promise<LogPage> {
    if (query.revisionId === undefined) await this.#deployments.load(caller, query.deploymentId);
    else await this.#revisions.load(caller, query.deploymentId, query.revisionId);
    return this.#reader.read(query, signal);
  }
}
