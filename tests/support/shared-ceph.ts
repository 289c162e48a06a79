import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";

export type { CephRgw } from "./components/ceph-rgw.ts";

import { type CephCluster, type CephRgw, startCephCluster } from "./components/ceph-rgw.ts";

/** It takes ten seconds to start. Its daemons are killed with this process, and its folder goes with the run's. */
let ofThisProcess: Promise<CephCluster> | undefined;

/** A tenant of the cluster that all test files of this process share. */
export async function useCephRgw(): Promise<CephRgw> {
  ofThisProcess ??= mkdtemp(join(inject("runFolder"), "ceph-")).then(startCephCluster);
  return (await ofThisProcess).newTenant();
}
