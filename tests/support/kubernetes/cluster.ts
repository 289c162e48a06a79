import { randomInt } from "node:crypto";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../components/free-port.ts";
import { ensureDebianPackages } from "../components/install-packages.ts";
import { type ChildProcess, spawnProcess } from "../components/process.ts";
import { runCommand } from "../components/run-command.ts";
import { createTempFolder } from "../components/temp-folder.ts";
import { waitUntil } from "../components/wait-until.ts";
import { makeKeys, writeKubeconfig } from "./cluster-keys.ts";
import { type ClusterNode, nodeName, pauseImage, startNode } from "./cluster-node.ts";
import { makeAgentImage, makePauseImage } from "./images.ts";

export interface Cluster {
  kubeconfig: string;
  /** Where pods find this machine, and nobody else does. */
  hostAddress: string;
  /** Null when network policies are enforced, else why this machine cannot. */
  unenforced: string | null;
  kubectl(args: string[], input?: string): Promise<string>;
  /** The last lines of every program. */
  output(): string;
  stop(): Promise<void>;
}

/** A Kubernetes cluster with one node on this machine. Everything listens on loopback or on a bridge of its own. */
export async function startCluster(programs: string): Promise<Cluster> {
  if (process.getuid?.() !== 0) throw new Error("A cluster needs root: run these tests as root.");
  await ensureDebianPackages([
    "containerd",
    "runc",
    "containernetworking-plugins",
    "iproute2",
    "iptables",
    "openssl",
  ]);
  const folder = await createTempFolder("kubernetes");
  // Containers run as other users.
  await chmod(folder.path, 0o755);
  const network = `10.${randomInt(150, 200)}.${randomInt(0, 256)}`;
  const hostAddress = `${network}.1`;
  const [etcdPort, peerPort, apiPort, kubeletPort, managerPort, schedulerPort] = await Promise.all(
    Array.from({ length: 6 }, freePort),
  );
  const server = `https://${hostAddress}:${apiPort}`;
  const kubeconfig = join(folder.path, "kubeconfig");
  const running: { name: string; child: ChildProcess }[] = [];
  let node: ClusterNode | undefined;
  const start = (name: string, flags: Record<string, string | number | boolean>) => {
    const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
    const child = spawnProcess(join(programs, name), args, { name, cwd: folder.path });
    running.push({ name, child });
    return child;
  };
  const kubectl = async (args: string[], input?: string) => {
    const options = { timeoutMs: 120_000, ...(input === undefined ? {} : { input }) };
    return (await runCommand(join(programs, "kubectl"), ["--kubeconfig", kubeconfig, ...args], options))
      .stdout;
  };
  const output = () =>
    [
      ...running.map(({ name, child }) => `${name}:\n${child.output().split("\n").slice(-40).join("\n")}`),
      `node:\n${node?.output().split("\n").slice(-80).join("\n") ?? ""}`,
    ].join("\n\n");
  const stop = async () => {
    await node?.stop();
    // What they hold is thrown away, and an API server that stops in order waits for its watchers.
    await Promise.all(running.map(({ child }) => child.kill()));
    await folder.remove();
  };
  const ready = (what: string, check: () => Promise<boolean>) =>
    waitUntil(
      () => {
        const ended = running.find(({ child }) => child.exit());
        if (ended) throw new Error(`${ended.name} ended:\n${ended.child.output()}`);
        return check().catch(() => false);
      },
      { what, timeoutMs: 180_000, intervalMs: 200, evidence: output },
    );

  try {
    await makeKeys(folder.path, hostAddress);
    await writeKubeconfig(folder.path, server);
    start("etcd", {
      ...{ name: "treadle", "data-dir": join(folder.path, "etcd"), "unsafe-no-fsync": true },
      ...urls("client", `http://127.0.0.1:${etcdPort}`),
      "listen-peer-urls": `http://127.0.0.1:${peerPort}`,
      "initial-advertise-peer-urls": `http://127.0.0.1:${peerPort}`,
      "initial-cluster": `treadle=http://127.0.0.1:${peerPort}`,
    });
    node = await startNode({
      ...{ programs, folder: folder.path, kubeconfig, kubeletPort: kubeletPort! },
      ...{ name: `trk${process.pid}`, address: hostAddress, podRange: `${network}.0/24` },
    });
    start("kube-apiserver", apiFlags(folder.path, { hostAddress, apiPort: apiPort!, etcdPort: etcdPort! }));
    await ready("the API server", async () => (await kubectl(["get", "--raw", "/readyz"])) === "ok");
    start("kube-controller-manager", {
      ...{ kubeconfig, "bind-address": "127.0.0.1", "secure-port": managerPort!, "leader-elect": false },
      "service-account-private-key-file": join(folder.path, "accounts.key"),
      "root-ca-file": join(folder.path, "ca.crt"),
    });
    start("kube-scheduler", {
      ...{ kubeconfig, "bind-address": "127.0.0.1", "secure-port": schedulerPort!, "leader-elect": false },
    });
    await node.importImage(await makePauseImage(folder.path, pauseImage, join(programs, "pause")));
    await node.importImage(await makeAgentImage(folder.path));
    const isReady = [
      "get",
      "node",
      nodeName,
      "-o",
      'jsonpath={.status.conditions[?(@.type=="Ready")].status}',
    ];
    await ready("the node", async () => (await kubectl(isReady)) === "True");
    await ready(
      "the account of pods",
      async () => (await kubectl(["get", "serviceaccount", "default"])) !== "",
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { kubeconfig, hostAddress, unenforced: node.unenforced, kubectl, output, stop };
}

function urls(kind: string, url: string): Record<string, string> {
  return { [`listen-${kind}-urls`]: url, [`advertise-${kind}-urls`]: url };
}

function apiFlags(
  folder: string,
  { hostAddress, apiPort, etcdPort }: { hostAddress: string; apiPort: number; etcdPort: number },
): Record<string, string | number | boolean> {
  const at = (name: string) => join(folder, name);
  return {
    ...{ "bind-address": hostAddress, "advertise-address": hostAddress, "secure-port": apiPort },
    ...{ "etcd-servers": `http://127.0.0.1:${etcdPort}`, "authorization-mode": "RBAC" },
    ...{ "client-ca-file": at("ca.crt"), "tls-cert-file": at("server.crt") },
    ...{ "tls-private-key-file": at("server.key"), "cert-dir": folder },
    ...{ "service-account-issuer": "https://kubernetes.default.svc" },
    ...{ "service-account-key-file": at("accounts.pub") },
    ...{ "service-account-signing-key-file": at("accounts.key") },
    ...{ "service-cluster-ip-range": "10.149.0.0/16", "enable-priority-and-fairness": false },
    ...{ "kubelet-client-certificate": at("admin.crt"), "kubelet-client-key": at("admin.key") },
    ...{ "kubelet-preferred-address-types": "InternalIP", "endpoint-reconciler-type": "none" },
  };
}
