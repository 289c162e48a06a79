import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { countDeployments, deleteListener, lockListener } from "./listener-store.ts";

/** Only one without deployments. False when there is none. */
export async function removeListener(database: Database, workspaceId: string, id: string): Promise<boolean> {
  return database.transaction(async (tx) => {
    // Who names it at this moment is waited for, and counts.
    if (!(await lockListener(tx, workspaceId, id))) return false;
    const deployments = (await countDeployments(tx, [id])).get(id) ?? 0;
    if (deployments > 0) throw inUse(deployments);
    return deleteListener(tx, workspaceId, id);
  });
}

function inUse(deployments: number): AppError {
  const many = deployments === 1 ? "1 deployment" : `${deployments} deployments`;
  return new AppError({
    code: "listener.in_use",
    kind: "conflict",
    message: `The listener has ${many}. Delete them first.`,
  });
}
