import type { Database, Sql } from "../../../../platform/db/database.ts";
import { runStatement } from "../../../../platform/db/run-statement.ts";
import type { RunKey } from "../../../runs/stored-run.ts";
import type { Share, Spender } from "../../../usage/usage-rollup.ts";
import { readSum } from "../../../usage/usage-sum.ts";
import { readUsageVector } from "../../../usage/usage-vector.ts";
import { arrayLiteral } from "./array-literal.ts";
import { findOvertaken, lockSpenders, takeShares } from "./spender-statements.ts";

export type StoredSpender = Spender & { startTime: string };

type SpenderRow = {
  id: string;
  workspace_id: string;
  start_time: string;
  parent_run_id: string | null;
  run_type: string;
  usage: (string | null)[] | null;
  below: string[] | null;
};

/** Locks these runs and their ancestors: no other transaction changes them until this one ends. */
export async function holdSpenders(tx: Sql, keys: readonly RunKey[]): Promise<StoredSpender[]> {
  const rows = await runStatement<SpenderRow>(tx, lockSpenders, keyValues(keys));
  return rows.map((row) => ({
    id: row.id,
    workspaceId: row.workspace_id,
    startTime: row.start_time,
    parentId: row.parent_run_id,
    runType: row.run_type,
    usage: row.usage && readUsageVector(row.usage),
    below: readSum(row.below),
  }));
}

/** Takes away what waited for these runs, which must be held. */
export async function takeWaitingShares(tx: Sql, keys: readonly RunKey[]): Promise<Share[]> {
  type Row = { id: string; workspace_id: string; usage: string[] };
  const rows = await runStatement<Row>(tx, takeShares, keyValues(keys));
  return rows.map((row) => ({ id: row.id, workspaceId: row.workspace_id, usage: readSum(row.usage) }));
}

export function listOvertakenSpenders(database: Database, keys: readonly RunKey[]): Promise<RunKey[]> {
  return database.query<RunKey>(findOvertaken, keyValues(keys));
}

function keyValues(keys: readonly RunKey[]): string[] {
  return [arrayLiteral(keys.map((key) => key.id)), arrayLiteral(keys.map((key) => key.workspaceId))];
}
