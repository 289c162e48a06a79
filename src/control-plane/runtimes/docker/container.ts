import { join } from "node:path";
import type { Certificate } from "../certificates.ts";
import { maxProcesses } from "../instance.ts";
import { readyFileName, type StartSpec } from "../runtime.ts";

export type ContainerFacts = {
  spec: StartSpec;
  image: string;
  network: string;
  /** The address of this machine that its port is published on. */
  publishedAt: string;
  environment: Record<string, string>;
  user: ContainerUser;
  /** Further groups of the user, for an artifact that only its group may read. */
  groups: readonly number[];
  /** Of the operator, for images, too. */
  certificates: readonly Pick<Certificate, "from" | "to">[];
  /** What a built project is started with; null for an image, which has a command of its own. */
  serve: {
    command: readonly string[];
    workingFolder: string;
    binds: readonly string[];
    environment: Readonly<Record<string, string>>;
  } | null;
  labels: Record<string, string>;
};

/** By numbers: the image's own password file decides what a name means, and that may be root. */
export type ContainerUser = { uid: number; gid: number } | "of the image";

export const projectFolder = "/deps/project";
export const homeFolder = "/home/agent";
const instanceFolder = "/run/treadle";
const megabyte = 1024 * 1024;

/**
 * The Docker Engine's description of one server: no capability, no way to gain one, nothing to write to but memory,
 * nothing of this machine to see but its own project and the folder of its ready file, and a network it shares with no
 * other deployment.
 */
export function describeContainer(facts: ContainerFacts) {
  const { spec, user, serve } = facts;
  const port = `${spec.port}/tcp`;
  const owner = user === "of the image" ? "" : `,uid=${user.uid},gid=${user.gid}`;
  const { memoryBytes, cpus } = spec.resources;
  return {
    Image: facts.image,
    Env: Object.entries({ ...facts.environment, ...serve?.environment }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    Labels: facts.labels,
    ...(user === "of the image" ? {} : { User: `${user.uid}:${user.gid}` }),
    ...(serve && { Cmd: [...serve.command], WorkingDir: serve.workingFolder }),
    ExposedPorts: { [port]: {} },
    HostConfig: {
      NetworkMode: facts.network,
      // Only gateways are meant to come: where they are all on this machine, it is loopback.
      PortBindings: { [port]: [{ HostIp: facts.publishedAt, HostPort: String(spec.port) }] },
      Binds: [...(serve?.binds ?? []), ...facts.certificates.map(({ from, to }) => `${from}:${to}:ro`)],
      ReadonlyRootfs: true,
      Tmpfs: {
        // With an owner: some versions of runc give it the mode of the image's own /tmp and ignore this one.
        "/tmp": `rw,exec,nosuid,nodev,mode=1777,size=${256 * megabyte}${owner}`,
        [homeFolder]: `rw,exec,nosuid,nodev,mode=0700,size=${256 * megabyte}${owner}`,
      },
      CapDrop: ["ALL"],
      Privileged: false,
      SecurityOpt: ["no-new-privileges"],
      PidsLimit: maxProcesses,
      IpcMode: "private",
      CgroupnsMode: "private",
      GroupAdd: facts.groups.map(String),
      // As much swap as none: what is above the limit ends the server instead of slowing the machine.
      ...(memoryBytes === null ? {} : { Memory: memoryBytes, MemorySwap: memoryBytes }),
      ...(cpus === null ? {} : { NanoCpus: Math.round(cpus * 1e9) }),
      LogConfig: { Type: "json-file", Config: { "max-size": "16m", "max-file": "2" } },
    },
  };
}

/** What a built project is started with. */
export function serveProject(spec: StartSpec, folder: string, command: readonly string[]) {
  const config = join(projectFolder, spec.configPath);
  return {
    command: [...command, "agent", "--json", "--config", config, "--port", String(spec.port)],
    workingFolder: join(config, ".."),
    binds: [`${folder}:${projectFolder}:ro`, `${spec.instanceFolder}:${instanceFolder}`],
    environment: { TREADLE_READY_FILE: join(instanceFolder, readyFileName) },
  };
}

/**
 * Who a server runs as. An image keeps a user it names by a number other than root's; with root or a name it gets the
 * deployment's own, unless the operator lets images choose.
 */
export function chooseContainerUser(
  own: { uid: number; gid: number },
  { imageUser, isImage, allowRoot }: { imageUser: string; isImage: boolean; allowRoot: boolean },
): ContainerUser {
  if (!isImage) return own;
  if (allowRoot) return "of the image";
  const [, uid, gid] = /^(\d{1,9})(?::(\d{1,9}))?$/.exec(imageUser) ?? [];
  return uid === undefined || Number(uid) === 0
    ? own
    : { uid: Number(uid), gid: Number(gid ?? uid) || own.gid };
}
