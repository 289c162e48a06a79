import { randomBytes, randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, copyFile, readlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readKubernetesAccess } from "../../../src/control-plane/runtimes/kubernetes/access.ts";
import { KubernetesApi } from "../../../src/control-plane/runtimes/kubernetes/api.ts";
import { freePort } from "../components/free-port.ts";
import { type ChildProcess, spawnProcess } from "../components/process.ts";
import { runCommand } from "../components/run-command.ts";
import { createTempFolder } from "../components/temp-folder.ts";
import { waitUntil } from "../components/wait-until.ts";
import { type ClusterNode, ownHardwareAddress, pauseImage, runInNetwork, startNode } from "./cluster-node.ts";
import { agentImage } from "./images.ts";

export interface SecondNode {
  name: string;
  /** From now on no packet leaves or reaches it; nobody is told. What runs there goes on. */
  cut(): Promise<void>;
  restore(): Promise<void>;
  output(): string;
  stop(): Promise<void>;
}

const firstSocket = () => join(dirname(process.env.KUBECONFIG ?? "/nowhere"), "containerd.sock");

/** Whether the cluster was made on this machine by these tests: no node can be made for another one. */
export const canJoinNode = () =>
  process.env.TREADLE_TEST_CLUSTER_PROGRAMS !== undefined && existsSync(firstSocket());

/**
 * A second node of the cluster of this run, with the images of the first. It has a network of its own, which can be cut,
 * and in which Services work.
 */
export async function joinNode(): Promise<SecondNode> {
  const kubeconfig = process.env.KUBECONFIG!;
  const folder = await createTempFolder("kubernetes-node");
  await chmod(folder.path, 0o755);
  await copyFile(join(dirname(kubeconfig), "ca.crt"), join(folder.path, "ca.crt"));
  const api = new KubernetesApi(await readKubernetesAccess({ kubeconfig }));
  const link = await makeLink();
  const name = `treadle-second-${randomBytes(4).toString("hex")}`;
  let node: ClusterNode | undefined;
  const stop = async () => {
    await node?.stop();
    await link.remove();
    await api.remove(`/api/v1/nodes/${name}`);
    api.close();
    await folder.remove();
  };
  try {
    node = await startNode({
      ...{ programs: process.env.TREADLE_TEST_CLUSTER_PROGRAMS!, folder: folder.path, kubeconfig },
      ...{ name: `trs${process.pid}`, address: link.podGateway, podRange: link.podRange },
      kubeletPort: await freePort(),
      further: { nodeName: name, address: link.address, network: link.network },
    });
    await copyImages(node, folder.path);
    type Node = { status?: { conditions?: { type: string; status: string }[] } };
    await waitUntil(
      async () => {
        const found = await api.get<Node>(`/api/v1/nodes/${name}`);
        return found?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
      },
      { what: "the second node", timeoutMs: 180_000, intervalMs: 200, evidence: node.output },
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { name, cut: link.cut, restore: link.restore, output: node.output, stop };
}

/** A network namespace, a pair of interfaces between it and this machine, and the routes on both sides. */
async function makeLink() {
  const [first, second] = [randomInt(200, 250), randomInt(0, 128)];
  const podGateway = `10.${first}.${second}.1`;
  const podRange = `10.${first}.${second}.0/24`;
  const [near, address] = [1, 2].map((last) => `10.${first}.${second + 128}.${last}`) as [string, string];
  const [nearEnd, farEnd] = [`trv${process.pid}`, `trw${process.pid}`];
  const holder: ChildProcess = spawnProcess("unshare", ["--net", "sleep", "infinity"], { name: "network" });
  const network = `/proc/${holder.pid}/ns/net`;
  const ip = (...args: string[]) => runInNetwork(undefined, ["ip", ...args]);
  const far = (...args: string[]) => runInNetwork(network, args);
  const open = async () => {
    await far("ip", "link", "set", farEnd, "up");
    await far("ip", "route", "replace", "default", "via", near);
  };
  const remove = async () => {
    await holder.kill();
    // It goes with the namespace, a moment after the last process has left that.
    await runCommand("ip", ["link", "delete", nearEnd]).catch(() => {});
  };
  try {
    const own = await readlink("/proc/self/ns/net");
    await waitUntil(async () => (await readlink(network)) !== own, {
      ...{ what: "the network namespace", timeoutMs: 30_000 },
    });
    const farHardware = ownHardwareAddress();
    await ip("link", "add", nearEnd, "type", "veth", "peer", "name", farEnd, "address", farHardware);
    await ip("link", "set", farEnd, "netns", String(holder.pid));
    await ip("addr", "add", `${near}/30`, "dev", nearEnd);
    await ip("link", "set", nearEnd, "up");
    await far("ip", "link", "set", "lo", "up");
    await far("ip", "addr", "add", `${address}/30`, "dev", farEnd);
    await far("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward");
    await open();
    // Known for good: whoever sends something to a node that is cut hears nothing, as from one that lost its power.
    await ip("neighbour", "replace", address, "lladdr", farHardware, "dev", nearEnd, "nud", "permanent");
    // From the one address that policies let in: to this node, the platform is not on the node itself.
    const source = process.env.TREADLE_TEST_CLUSTER_HOST!;
    await ip("route", "add", podRange, "via", address, "dev", nearEnd, "src", source);
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    ...{ network, podGateway, podRange, address, remove },
    cut: () => far("ip", "link", "set", farEnd, "down"),
    restore: open,
  };
}

async function copyImages(node: ClusterNode, folder: string): Promise<void> {
  const archive = join(folder, "images.tar");
  const from = ["--address", firstSocket(), "--namespace", "k8s.io", "images", "export", archive];
  await runCommand("ctr", [...from, pauseImage, agentImage], { timeoutMs: 900_000 });
  await node.importImage(archive);
}
