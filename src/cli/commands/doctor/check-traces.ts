import type { Config } from "../../../config/index.ts";
import type { Verdict } from "./checks.ts";

/** Where runs of traces are kept, and whether the server there can be used. Changes nothing. */
export async function checkTraces({ clickHouse: given }: Config): Promise<Verdict> {
  if (given === undefined) return { status: "ok", message: "kept in PostgreSQL" };
  const { clickHouseMigrations } = await import("../../../app/open-clickhouse.ts");
  const { ClickHouse } = await import("../../../platform/clickhouse/clickhouse.ts");
  const { inspectClickHouse } = await import("../../../platform/clickhouse/migrate-clickhouse.ts");
  const clickHouse = await ClickHouse.open({ url: given.url, requestTimeoutMs: 5_000 });
  try {
    const { version, pending } = await inspectClickHouse(clickHouse, clickHouseMigrations);
    const state = pending.length === 0 ? "up to date" : "is brought up to date by the next start";
    const cluster = given.cluster === undefined ? "" : `, cluster ${given.cluster}`;
    return {
      status: "ok",
      message: `kept in ClickHouse ${version} at ${clickHouse.where} (TREADLE_TRACES_URL${cluster}); ${state}`,
    };
  } finally {
    await clickHouse.close();
  }
}
