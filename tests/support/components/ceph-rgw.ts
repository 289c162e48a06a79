import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CEPH_IDENTITIES, type CephLayout, cephConfig, monitorAddress } from "./ceph-cluster-config.ts";
import { freePort } from "./free-port.ts";
import { ensureDebianPackages } from "./install-packages.ts";
import { type ChildProcess, spawnProcess } from "./process.ts";
import { runCommand } from "./run-command.ts";
import { createTempFolder } from "./temp-folder.ts";
import { waitUntil } from "./wait-until.ts";

const PACKAGES = ["radosgw", "ceph-mon", "ceph-osd", "ceph-base", "ceph-common", "ceph-mgr"];

export interface S3User {
  uid: string;
  accessKey: string;
  secretKey: string;
  /** Names the user in a bucket's policy. */
  arn: string;
}

export interface CephRgw {
  endpoint: string;
  region: string;
  accessKey: string;
  secretKey: string;
  createUser(): Promise<S3User>;
  /** Makes the gateway refuse or accept the user's requests again. */
  suspendUser(uid: string): Promise<void>;
  enableUser(uid: string): Promise<void>;
  /** The user's buckets may hold so many objects from now on. */
  limitObjects(uid: string, most: number): Promise<void>;
  /** Ends the gateway as a crash would; the stored objects stay. */
  killGateway(): Promise<void>;
  startGateway(): Promise<void>;
  stop(): Promise<void>;
}

async function lastLogLines(folder: string, children: ChildProcess[]): Promise<string> {
  const logs = await readdir(join(folder, "log"));
  const tails = await Promise.all(
    logs.map(async (file) => {
      const text = await readFile(join(folder, "log", file), "utf8");
      return `--- ${file}\n${text.trimEnd().split("\n").slice(-10).join("\n")}`;
    }),
  );
  return [...tails, ...children.map((child) => `--- output of pid ${child.pid}\n${child.output()}`)].join(
    "\n",
  );
}

async function createKeyring(folder: string): Promise<void> {
  const keyring = join(folder, "keyring");
  await runCommand("ceph-authtool", ["--create-keyring", keyring]);
  for (const { name, capabilities } of CEPH_IDENTITIES) {
    const caps = Object.entries(capabilities).flatMap(([daemon, rule]) => ["--cap", daemon, rule]);
    await runCommand("ceph-authtool", [keyring, "--gen-key", "--name", name, ...caps]);
  }
}

export type CephCluster = {
  /** Users and buckets in a tenant of their own, which those of another tenant cannot name. */
  newTenant(): Promise<CephRgw>;
  stop(): Promise<void>;
};

/** Ceph's S3 gateway: it checks signatures and holds the objects in memory. Buckets are made by S3 clients. */
export async function startCephRgw(): Promise<CephRgw> {
  const temp = await createTempFolder("ceph");
  const cluster = await startCephCluster(temp.path);
  return {
    ...(await cluster.newTenant()),
    stop: async () => {
      await cluster.stop();
      await temp.remove();
    },
  };
}

/** In an empty folder, which stays. */
export async function startCephCluster(folder: string): Promise<CephCluster> {
  await ensureDebianPackages(PACKAGES);
  const layout: CephLayout = {
    folder,
    fsid: randomUUID(),
    monitorPort: await freePort(),
    gatewayPort: await freePort(),
  };
  const endpoint = `http://127.0.0.1:${layout.gatewayPort}`;
  const config = join(folder, "ceph.conf");
  const children: ChildProcess[] = [];
  let gateway: ChildProcess | undefined;

  const ceph = (command: string, ...args: string[]) => runCommand(command, ["-c", config, ...args]);
  const startDaemon = (command: string, ...args: string[]) => {
    const child = spawnProcess(command, ["-c", config, ...args, "-f"], { cwd: folder });
    children.push(child);
    return child;
  };
  const startGateway = async () => {
    const child = startDaemon("radosgw", "-n", "client.rgw.gateway");
    gateway = child;
    await waitUntil(
      async () => {
        if (child.exit()) throw new Error(`The S3 gateway ended while starting:\n${child.output()}`);
        const answer = await fetch(endpoint).catch(() => undefined);
        await answer?.body?.cancel();
        return answer?.status === 200;
      },
      { what: `the S3 gateway at ${endpoint}`, timeoutMs: 90_000, intervalMs: 100 },
    );
  };

  const stop = async () => {
    // The gateway first: it would otherwise wait for a store that is gone.
    for (const child of [...children].reverse()) await child.stop("SIGTERM", 5_000);
  };
  const admin = async (...args: string[]) => void (await ceph("radosgw-admin", ...args));
  const newTenant = async (): Promise<CephRgw> => {
    const tenant = `t${randomBytes(6).toString("hex")}`;
    const createUser = async (): Promise<S3User> => {
      const name = `user-${randomUUID()}`;
      const uid = `${tenant}$${name}`;
      const accessKey = randomBytes(10).toString("hex").toUpperCase();
      const secretKey = randomBytes(20).toString("hex");
      const keys = ["--access-key", accessKey, "--secret-key", secretKey];
      await admin("user", "create", "--uid", uid, "--display-name", name, ...keys);
      return { uid, accessKey, secretKey, arn: `arn:aws:iam::${tenant}:user/${name}` };
    };
    const { accessKey, secretKey } = await createUser();
    return {
      ...{ endpoint, region: "us-east-1", accessKey, secretKey, createUser },
      suspendUser: (uid) => admin("user", "suspend", "--uid", uid),
      enableUser: (uid) => admin("user", "enable", "--uid", uid),
      limitObjects: async (uid, most) => {
        const quota = ["--quota-scope", "user", "--uid", uid];
        await admin("quota", "set", ...quota, "--max-objects", String(most));
        await admin("quota", "enable", ...quota);
      },
      killGateway: async () => void (await gateway?.kill()),
      startGateway,
      // Others find it serving, whatever became of the test that killed it.
      stop: async () => {
        if (gateway?.exit()) await startGateway();
      },
    };
  };

  try {
    for (const name of ["mon", "osd", "mgr", "rgw", "run", "log"]) await mkdir(join(folder, name));
    await writeFile(config, cephConfig(layout));
    await createKeyring(folder);
    const monitorMap = join(folder, "monmap");
    const address = ["--addv", "a", `[${monitorAddress(layout)}]`];
    await runCommand("monmaptool", ["--create", ...address, "--fsid", layout.fsid, monitorMap]);
    await ceph("ceph-mon", "--mkfs", "-i", "a", "--monmap", monitorMap, "--keyring", join(folder, "keyring"));
    startDaemon("ceph-mon", "-i", "a");

    const osdId = randomUUID();
    await ceph("ceph", "--connect-timeout", "45", "osd", "new", osdId);
    await ceph("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osdId);
    startDaemon("ceph-osd", "-i", "0");

    await startGateway();
    return { newTenant, stop };
  } catch (error) {
    const logs = await lastLogLines(folder, children);
    await stop();
    throw new Error(`Ceph did not start. Last log lines:\n${logs}`, { cause: error });
  }
}
