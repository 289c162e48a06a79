import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { announceDeployment, insertEvent } from "../desired-state/revision-store.ts";
import type { Instance } from "./instance.ts";

/** Events of a revision that serves: what is wrong with its server, and that it is not any more. */
const begins = "trouble";
const ends = "trouble_over";
export const troubleKinds = { begins, ends };

/**
 * What keeps a server from serving as it should, which did before; "" when nothing does any more. Each is recorded once, also
 * when another process watches the server by now, and nothing of a server that is being stopped. False when nothing was new.
 */
export async function noteTrouble(
  tx: Sql,
  { id, revision_id, deployment_id, started_at }: Instance,
  problem: string,
  now: Date,
): Promise<boolean> {
  const message = problem === "" ? "The server is well again." : `The server is not well: ${problem}.`;
  const kind = problem === "" ? ends : begins;
  const { rows } = await raw<{ kind: string | null; message: string | null }>`
    select e.kind, e.message from deployment_instances i
    left join lateral (
      select kind, message from revision_events
      where revision_id = i.revision_id and kind in (${begins}, ${ends}) and created_at >= ${started_at}
      order by id desc limit 1) e on true
    where i.id = ${id} and i.state = 'ready'`.execute(tx);
  const [last] = rows;
  if (!last || ((last.kind ?? ends) === kind && (problem === "" || last.message === message))) return false;
  await insertEvent(tx, revision_id, { kind, status: null, message }, now);
  await announceDeployment(tx, deployment_id);
  return true;
}
