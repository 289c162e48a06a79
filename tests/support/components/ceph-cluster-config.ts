export interface CephLayout {
  folder: string;
  fsid: string;
  monitorPort: number;
  gatewayPort: number;
}

/** The monitor speaks only the second messenger version: one port instead of two. */
export function monitorAddress(layout: CephLayout): string {
  return `v2:127.0.0.1:${layout.monitorPort}`;
}

/** One monitor, one object store in memory, one gateway, everything below one folder. */
export function cephConfig(layout: CephLayout): string {
  const settings: Record<string, string | number> = {
    fsid: layout.fsid,
    "mon host": `[${monitorAddress(layout)}]`,
    "public network": "127.0.0.0/8",
    "cluster network": "127.0.0.0/8",

    // The gateway does not start without authentication.
    "auth cluster required": "cephx",
    "auth service required": "cephx",
    "auth client required": "cephx",
    "auth allow insecure global id reclaim": "false",
    keyring: `${layout.folder}/keyring`,

    // A single store: one copy of everything, few placement groups, no manager to tune them.
    "osd pool default size": 1,
    "osd pool default min size": 1,
    "osd pool default pg num": 4,
    "osd pool default pgp num": 4,
    "osd pool default pg autoscale mode": "off",
    "osd crush chooseleaf type": 0,
    "mon allow pool size one": "true",
    "mon max pg per osd": 1000,
    "osd objectstore": "memstore",
    "memstore device bytes": 4 * 1024 ** 3,

    // The monitor stops working on a disk it considers full; a test machine may be fuller than a server.
    "mon data avail warn": 2,
    "mon data avail crit": 1,

    "mon data": `${layout.folder}/mon`,
    "osd data": `${layout.folder}/osd`,
    "mgr data": `${layout.folder}/mgr`,
    "rgw data": `${layout.folder}/rgw`,
    "run dir": `${layout.folder}/run`,
    "crash dir": `${layout.folder}/run`,
    "admin socket": `${layout.folder}/run/$name.$pid.asok`,
    "log file": `${layout.folder}/log/$name.log`,

    "rgw frontends": `beast endpoint=127.0.0.1:${layout.gatewayPort}`,
    "rgw thread pool size": 32,
    "rgw dynamic resharding": "false",
    "rgw enable usage log": "false",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  return `[global]\n${lines.join("\n")}\n`;
}

/** Who may do what in the cluster, as arguments of ceph-authtool. */
export const CEPH_IDENTITIES: { name: string; capabilities: Record<string, string> }[] = [
  { name: "mon.", capabilities: { mon: "allow *" } },
  { name: "client.admin", capabilities: { mon: "allow *", osd: "allow *", mgr: "allow *" } },
  { name: "osd.0", capabilities: { mon: "allow profile osd", osd: "allow *", mgr: "allow profile osd" } },
  { name: "client.rgw.gateway", capabilities: { mon: "allow rw", osd: "allow rwx", mgr: "allow rw" } },
];
