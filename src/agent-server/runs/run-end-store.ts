import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { lastProtocolSeq } from "../delivery/event-store.ts";
import { type EventFamily, type EventNumbers, takeNumbers } from "../delivery/thread-event.ts";
import type { Run } from "./run.ts";
import { lastEvents, type RunResult } from "./run-end.ts";

/**
 * The end of a run that is taken back. Its numbers stay used, although its events are gone: a client that has
 * got them recognises later ones only by their number.
 */
export async function endRolledBackRun(
  sql: Sql,
  run: Pick<Run, "run_id" | "thread_id">,
  end: RunResult,
): Promise<void> {
  const { events, numbers } = lastEvents(run, end);
  await raw`update threads set last_seq = greatest(last_seq, ${numbers.seq}::bigint),
      protocol_seq = greatest(protocol_seq, ${numbers.protocol}::bigint)
    where thread_id = ${run.thread_id}`.execute(sql);
  const terminal = events.find((event) => event.family === "protocol");
  if (!terminal) return;
  await raw`insert into thread_events (thread_id, seq, run_id, family, name, data, number)
    values (${run.thread_id}, ${terminal.seq}, ${run.run_id}, 'protocol', ${terminal.name}, ${terminal.data},
      ${terminal.number})`.execute(sql);
}

/**
 * Writes the end of a run that never began to the log, numbered after every event of its thread. Writes nothing, and
 * returns false, while another run of the thread is running: that one alone gives out numbers, and the end of a run does
 * not name it, so that its readers would take this end for its own. Keeps the thread locked until the transaction ends.
 */
export async function writeUnbegunEnd(
  sql: Sql,
  run: Pick<Run, "run_id" | "thread_id">,
  last: { terminal: { name: string; data: string }; endJson: string },
): Promise<boolean> {
  const { rows: threads } = await raw<{ protocol: boolean; last_seq: number; protocol_seq: number }>`select
      t.protocol, t.last_seq, ${raw.raw(lastProtocolSeq)} as protocol_seq from threads t where thread_id = ${run.thread_id} for update`.execute(
    sql,
  );
  const [thread] = threads;
  if (!thread) return false;
  const { rows: seen } = await raw<{ running: boolean; seq: number }>`select
      exists (select 1 from runs where thread_id = ${run.thread_id} and status = 'running') as running,
      coalesce((select max(seq) from thread_events where thread_id = ${run.thread_id}), 0) as seq`.execute(
    sql,
  );
  if (seen[0]!.running) return false;
  const seq = Math.max(Number(thread.last_seq), Number(seen[0]!.seq));
  const numbers: EventNumbers = { seq, protocol: Number(thread.protocol_seq), run: -1 };
  const write = (family: EventFamily, name: string, data: string) => {
    const taken = takeNumbers(numbers, family);
    return raw`insert into thread_events (thread_id, seq, run_id, family, name, data, number)
      values (${run.thread_id}, ${taken.seq}, ${run.run_id}, ${family}, ${name}, ${data},
        ${taken.number})`.execute(sql);
  };
  if (thread.protocol) await write("protocol", last.terminal.name, last.terminal.data);
  await write("control", "end", last.endJson);
  await raw`update threads set last_seq = ${numbers.seq}, protocol_seq = ${numbers.protocol}
    where thread_id = ${run.thread_id}`.execute(sql);
  return true;
}
