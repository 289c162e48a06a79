import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import { clickHouseCode } from "../../../../platform/clickhouse/clickhouse-errors.ts";
import type { Logger } from "../../../../platform/logger.ts";

type Part = { name: string; partition_id: string; stored: number; kept: number };

/** No part of that name: it was merged into another one meanwhile. */
const noSuchPart = "232";

/**
 * The room of deleted runs. ClickHouse hides deleted rows, and gives their room back only when it happens to merge them. Parts
 * are dropped by their names: rows that come meanwhile are in others.
 */
export class RunSpace {
  readonly #clickHouse: ClickHouse;
  readonly #logger: Logger;

  constructor(options: { clickHouse: ClickHouse; logger: Logger }) {
    this.#clickHouse = options.clickHouse;
    this.#logger = options.logger;
  }

  async free(signal: AbortSignal): Promise<void> {
    const parts = await this.#listParts();
    for (const { name, kept } of parts) {
      signal.throwIfAborted();
      if (kept === 0) await this.#drop(name);
    }
    const left = parts.filter(({ kept }) => kept > 0);
    for (const [id, all] of Map.groupBy(left, (part) => part.partition_id)) {
      signal.throwIfAborted();
      const sum = (of: "stored" | "kept") => all.reduce((total, part) => total + part[of], 0);
      // Writing them anew costs as much as what is kept: worth it when that is the smaller half.
      if (sum("kept") * 2 > sum("stored")) continue;
      await this.#clickHouse.run(`alter table trace_runs apply deleted mask in partition id '${plain(id)}'`);
      this.#logger.info({ partition: id }, "the room of deleted runs was given back");
    }
  }

  async #listParts(): Promise<Part[]> {
    const listed = await this.#clickHouse.rows<Omit<Part, "kept">>(
      `select name, partition_id, rows as stored from system.parts
        where database = currentDatabase() and table = 'trace_runs' and active and has_lightweight_delete`,
    );
    if (listed.length === 0) return [];
    const counted = await this.#clickHouse.rows<{ part: string; kept: number }>(
      "select _part as part, count() as kept from trace_runs where _part in {names: Array(String)} group by part",
      { params: { names: listed.map(({ name }) => name) } },
    );
    const kept = new Map(counted.map((row) => [row.part, row.kept]));
    return listed.map((part) => ({ ...part, kept: kept.get(part.name) ?? 0 }));
  }

  async #drop(name: string): Promise<void> {
    try {
      await this.#clickHouse.run(`alter table trace_runs drop part '${plain(name)}'`);
    } catch (error) {
      if (clickHouseCode(error) !== noSuchPart) throw error;
      return;
    }
    this.#logger.info({ part: name }, "a part of the runs was dropped: all of them have been deleted");
  }
}

/** Names cannot be sent beside a statement of this kind. */
function plain(name: string): string {
  if (!/^[\w-]+$/.test(name)) throw new Error(`ClickHouse named a part of trace_runs "${name}".`);
  return name;
}
