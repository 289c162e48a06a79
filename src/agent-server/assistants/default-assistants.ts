import type { Database } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { defaultAssistantId } from "./assistant.ts";

/** Config and context of a graph's default assistant, from the environment. */
export type DefaultConfig = { config?: Record<string, unknown>; context?: Record<string, unknown> };

/**
 * Every workspace has one assistant per graph, created at the first request of the workspace. This is remembered for
 * the life of the process, because system assistants are never deleted. An assistant that was not edited follows the
 * environment, which is read at every start.
 */
export class DefaultAssistants {
  readonly #database: Database;
  readonly #graphIds: readonly string[];
  readonly #configs: Readonly<Record<string, DefaultConfig>>;
  readonly #ready = new Map<string, Promise<void>>();

  constructor(
    database: Database,
    graphIds: readonly string[],
    configs: Readonly<Record<string, DefaultConfig>> = {},
  ) {
    this.#database = database;
    this.#graphIds = graphIds;
    this.#configs = configs;
  }

  ensure(workspaceId: string): Promise<void> {
    let ready = this.#ready.get(workspaceId);
    if (!ready) {
      ready = this.#insert(workspaceId);
      this.#ready.set(workspaceId, ready);
      // A failure must not be remembered: the next caller tries again.
      ready.catch(() => this.#ready.delete(workspaceId));
    }
    return ready;
  }

  async #insert(workspaceId: string): Promise<void> {
    if (this.#graphIds.length === 0) return;
    const rows = this.#graphIds.map((graphId) => {
      const { config = {}, context = {} } = this.#configs[graphId] ?? {};
      return raw`(${workspaceId}::uuid, ${defaultAssistantId(graphId)}::uuid, ${graphId}, ${graphId},
        ${JSON.stringify(config)}::jsonb, ${JSON.stringify(context)}::jsonb, '{"created_by": "system"}'::jsonb)`;
    });
    await raw`with made as (
        insert into assistants (workspace_id, assistant_id, graph_id, name, config, context, metadata)
        values ${raw.join(rows)}
        on conflict (workspace_id, assistant_id) do update
          set config = excluded.config, context = excluded.context, updated_at = now()
          where assistants.version = 1 and assistants.metadata = excluded.metadata
            and (assistants.config, assistants.context) is distinct from (excluded.config, excluded.context)
        returning *
      )
      insert into assistant_versions
        (workspace_id, assistant_id, version, graph_id, config, context, metadata, name, description)
      select workspace_id, assistant_id, version, graph_id, config, context, metadata, name, description from made
      on conflict (workspace_id, assistant_id, version) do update
        set config = excluded.config, context = excluded.context`.execute(this.#database.sql);
  }
}
