import { readdirSync, readFileSync } from "node:fs";
import type { Database } from "../src/platform/db/database.ts";
import { raw } from "../src/platform/db/raw.ts";

const ticksPerSecond = 100;

type Process = { pid: number; parent: number; name: string; cpuSeconds: number; reapedSeconds: number };

function readProcess(pid: number): Process | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    // It ended meanwhile; its parent has its time.
    return undefined;
  }
  const rest = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const seconds = (...fields: number[]) =>
    fields.reduce((sum, field) => sum + Number(rest[field]), 0) / ticksPerSecond;
  return {
    pid,
    parent: Number(rest[1]),
    name: text.slice(text.indexOf("(") + 1, text.lastIndexOf(")")),
    cpuSeconds: seconds(11, 12),
    reapedSeconds: seconds(13, 14),
  };
}

function readAll(): Process[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => readProcess(Number(pid)) ?? []);
}

/** CPU time so far, by whose work it was. */
export type CpuTimes = { database: number; storage: number };

/** Of the database server with all its backends, ended ones too, and of the storage's processes below this one. */
export async function watchCpu(database: Database): Promise<() => CpuTimes> {
  const { rows } = await raw<{ pid: number }>`select pg_backend_pid() as pid`.execute(database.sql);
  const server = readProcess(rows[0]!.pid)?.parent;
  const storageNames = ["radosgw", "ceph-osd", "ceph-mon"];
  return () => {
    const all = readAll();
    const sum = (some: Process[], reaped: boolean) =>
      some.reduce((total, one) => total + one.cpuSeconds + (reaped ? one.reapedSeconds : 0), 0);
    const backends = all.filter((one) => one.parent === server);
    const storage = all.filter((one) => one.parent === process.pid && storageNames.includes(one.name));
    return {
      database:
        sum(
          all.filter((one) => one.pid === server),
          true,
        ) + sum(backends, false),
      storage: sum(storage, false),
    };
  };
}

export function cpuBetween(before: CpuTimes, after: CpuTimes): CpuTimes {
  return { database: after.database - before.database, storage: after.storage - before.storage };
}
