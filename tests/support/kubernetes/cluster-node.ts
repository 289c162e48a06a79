import { randomBytes, randomInt } from "node:crypto";
import { access, mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ChildProcess, spawnProcess } from "../components/process.ts";
import { runCommand } from "../components/run-command.ts";
import { waitUntil } from "../components/wait-until.ts";

export const pauseImage = "treadle.test/pause:1";
export const nodeName = "treadle-test-node";
const groups = "/sys/fs/cgroup";

/** What containerd and kubelet keep outside of their folders; an empty file system is laid over each. */
const hidden = [
  "/run/netns",
  "/run/containerd",
  "/var/lib/cni",
  "/var/log/pods",
  "/var/log/containers",
  "/var/lib/kubelet",
];

export type NodeOptions = {
  programs: string;
  folder: string;
  /** Of the cluster; also the name of its bridge and of its group of processes. */
  name: string;
  address: string;
  podRange: string;
  kubeconfig: string;
  kubeletPort: number;
  /** A further node: its name, the address it is known by, and the path of the network namespace it runs in. */
  further?: { nodeName: string; address: string; network: string };
};

export type ClusterNode = {
  /** Null when network policies are enforced, else why this machine cannot. */
  unenforced: string | null;
  importImage(archive: string): Promise<void>;
  output(): string;
  stop(): Promise<void>;
};

/**
 * containerd and kubelet in namespaces of their own for processes and mounts: whatever pods, shims and mounts are left
 * when it is stopped goes with the namespaces. The network is this machine's, so that tests reach pods; that of a further
 * node is a namespace.
 */
export async function startNode(options: NodeOptions): Promise<ClusterNode> {
  const { folder, name, address, programs, further } = options;
  const socket = join(folder, "containerd.sock");
  const enter = further ? ["nsenter", `--net=${further.network}`] : [];
  const ip = (...args: string[]) => runInNetwork(further?.network, ["ip", ...args]);
  // An address of its own: else it changes with each pod that comes or goes, and the others cannot reach this machine for a while.
  await ip("link", "add", name, "address", ownHardwareAddress(), "type", "bridge");
  await ip("addr", "add", `${address}/24`, "dev", name);
  await ip("link", "set", name, "up");
  const queue = randomInt(1, 65_536);
  const rules = await leadToQueue(queue, options);
  await writeFiles(options, socket, rules.failure === null ? queue : null);
  const made: string[] = [];
  for (const path of hidden) if ((await mkdir(path, { recursive: true })) !== undefined) made.push(path);
  await makeGroups(name);
  const flags = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"];
  const [command, ...args] = [...enter, "unshare", ...flags, "sh", join(folder, "node.sh")];
  const child: ChildProcess = spawnProcess(command!, args, {
    ...{ name: "node", cwd: folder },
    env: { PATH: `${programs}:${process.env.PATH}` },
  });
  const ctr = (args: string[]) =>
    runCommand("ctr", ["--address", socket, "--namespace", "k8s.io", ...args], { timeoutMs: 900_000 });
  const stop = async () => {
    await child.kill();
    await rules.remove();
    await ip("link", "delete", name);
    for (const path of made) await rmdir(path);
    for (const hierarchy of await hierarchies()) await removeGroup(join(hierarchy, name));
  };
  try {
    await waitUntil(
      () =>
        child.exit()
          ? Promise.reject(new Error(child.output()))
          : ctr(["version"]).then(
              () => true,
              () => false,
            ),
      { what: "containerd", timeoutMs: 60_000, intervalMs: 200, evidence: child.output },
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    importImage: async (archive) => void (await ctr(["images", "import", archive])),
    unenforced: rules.failure,
    output: child.output,
    stop,
  };
}

/**
 * New connections of pods wait in this queue until the program that knows the network policies has judged them. Those of this
 * machine itself are not led there: as elsewhere, a node reaches its pods, and they reach it.
 */
async function leadToQueue(queue: number, { further, podRange }: NodeOptions) {
  const made: string[][] = [];
  const change = (how: "-I" | "-D", which: string[]) =>
    runInNetwork(further?.network, ["iptables", "-w", "-t", "mangle", how, "FORWARD", ...which]);
  const remove = async () => {
    for (const which of made.splice(0)) await change("-D", which);
  };
  try {
    for (const side of ["-s", "-d"]) {
      const isNew = ["-m", "conntrack", "--ctstate", "NEW"];
      const which = [side, podRange, ...isNew, "-j", "NFQUEUE", "--queue-num", String(queue)];
      await change("-I", which);
      made.push(which);
    }
    return { failure: null, remove };
  } catch (error) {
    await remove();
    return { failure: error instanceof Error ? error.message : String(error), remove };
  }
}

export const ownHardwareAddress = () => `02:${randomBytes(5).toString("hex").match(/../g)!.join(":")}`;

/** A command in the network namespace at this path, or in this machine's. */
export async function runInNetwork(network: string | undefined, command: string[]): Promise<void> {
  const [program, ...args] = network ? ["nsenter", `--net=${network}`, ...command] : command;
  await runCommand(program!, args);
}

/** With the first version of cgroups every controller has one of its own; with the second there is one. */
async function hierarchies(): Promise<string[]> {
  const entries = await readdir(groups, { withFileTypes: true });
  if (entries.some(({ name }) => name === "cgroup.controllers")) return [groups];
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(groups, name));
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

async function makeGroups(name: string): Promise<void> {
  for (const hierarchy of await hierarchies()) {
    const group = join(hierarchy, name);
    await mkdir(group, { recursive: true });
    // Beside it every process of this machine counts as one. Left alone, all pods together would count as one, too: they count as eight.
    const [file, share] = hierarchy === groups ? ["cpu.weight", "800"] : ["cpu.shares", "8192"];
    if (await exists(join(group, file))) await writeFile(join(group, file), share);
    // A group without processors takes no process.
    for (const file of hierarchy.endsWith("/cpuset") ? ["cpuset.cpus", "cpuset.mems"] : []) {
      await writeFile(join(group, file), await readFile(join(hierarchy, file)));
    }
  }
}

async function removeGroup(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => null);
  if (entries === null) return;
  for (const entry of entries) if (entry.isDirectory()) await removeGroup(join(path, entry.name));
  // Processes that were killed a moment ago may not have left it yet.
  await waitUntil(
    () =>
      rmdir(path).then(
        () => true,
        (error: NodeJS.ErrnoException) => error.code === "ENOENT",
      ),
    {
      ...{ what: `the control group ${path} to be empty`, timeoutMs: 10_000 },
    },
  );
}

async function writeFiles(options: NodeOptions, socket: string, queue: number | null): Promise<void> {
  const { folder, name, address, podRange } = options;
  const at = (...parts: string[]) => join(folder, ...parts);
  for (const made of ["cni", "containerd", "state", "kubelet", "addresses"]) await mkdir(at(made));
  const gateway = { isGateway: true, isDefaultGateway: true, forceAddress: false, ipMasq: false };
  const ipam = {
    ...{ type: "host-local", dataDir: at("addresses") },
    ranges: [[{ subnet: podRange, gateway: address }]],
  };
  const network = { cniVersion: "0.4.0", name: "treadle" };
  await writeFile(
    at("cni", "10-treadle.conflist"),
    JSON.stringify({ ...network, plugins: [{ type: "bridge", bridge: name, ...gateway, ipam }] }),
  );
  await writeFile(at("containerd.toml"), containerdConfig(folder, socket));
  await writeFile(at("kubelet.json"), JSON.stringify(kubeletConfig(options, socket)));
  await writeFile(at("node.sh"), nodeScript(options, queue));
}

function containerdConfig(folder: string, socket: string): string {
  const cri = '[plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = "${folder}/containerd"
state = "${folder}/state"
[grpc]
  address = "${socket}"
${cri}]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
${cri}.cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "${folder}/cni"
${cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
`;
}

function kubeletConfig({ folder, name, address, further, kubeletPort }: NodeOptions, socket: string) {
  return {
    ...{ apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" },
    ...{ address: further?.address ?? address, port: kubeletPort, healthzPort: 0, readOnlyPort: 0 },
    ...{ cgroupDriver: "cgroupfs", cgroupRoot: `/${name}`, failCgroupV1: false, failSwapOn: false },
    ...{ containerRuntimeEndpoint: `unix://${socket}`, enforceNodeAllocatable: [] },
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: false },
      x509: { clientCAFile: join(folder, "ca.crt") },
    },
    authorization: { mode: "AlwaysAllow" },
    ...{ evictionHard: { "memory.available": "50Mi" }, imageGCHighThresholdPercent: 100 },
    ...{ localStorageCapacityIsolation: false, syncFrequency: "10s", resolvConf: "" },
    ...{ nodeStatusUpdateFrequency: "4s", registerNode: true, maxPods: 60 },
    // The first restarts of a container are what tests wait for.
    crashLoopBackOff: { maxContainerRestartPeriod: "10s" },
    featureGates: { KubeletCrashLoopBackOffMax: true },
  };
}

/** The first process of the node. What containerd and kubelet keep outside of their folders is out of this machine's sight. */
function nodeScript(options: NodeOptions, queue: number | null): string {
  const { folder, kubeconfig, address, podRange, further } = options;
  const node = further?.nodeName ?? nodeName;
  // Services: its rules are in the network of a further node. Those of two clusters in one network would undo one another.
  const untouched = ["max-per-core", "tcp-timeout-established", "tcp-timeout-close-wait"];
  const kernel = untouched.map((name) => `--conntrack-${name}=0`).join(" ");
  const proxy = further
    ? `kube-proxy --kubeconfig=${kubeconfig} --hostname-override=${further.nodeName} --proxy-mode=iptables \\
  --cluster-cidr=${podRange} ${kernel} &`
    : "";
  const policies =
    queue === null
      ? ""
      : `network-policies --kubeconfig=${kubeconfig} --node=${node} --queue=${queue} >${folder}/network-policies.log 2>&1 &`;
  return `set -e
for hidden in ${hidden.join(" ")}; do mount -t tmpfs tmpfs $hidden; done
containerd --config ${folder}/containerd.toml &
until ctr --address ${folder}/containerd.sock version >/dev/null 2>&1; do sleep 0.1; done
kubelet --config=${folder}/kubelet.json --kubeconfig=${kubeconfig} --hostname-override=${node} \\
  --node-ip=${further?.address ?? address} --root-dir=${folder}/kubelet --cert-dir=${folder}/kubelet-keys &
${proxy}
${policies}
wait
`;
}
