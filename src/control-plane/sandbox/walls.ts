import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { bubblewrapArguments, type Mount } from "./bubblewrap.ts";
import type { Launch } from "./enclosed-process.ts";
import { decideIsolation, type Isolation, type IsolationSetting, isolationMissing } from "./isolation.ts";
import { certificateMounts, type MachineMounts, nodeMounts, readMachineMounts } from "./machine-mounts.ts";
import { probeSandbox } from "./sandbox-probe.ts";
import { seccompFilter } from "./seccomp.ts";
import { findClosedFolder, type SystemUser } from "./system-user.ts";

export type Enclosure = {
  command: readonly [string, ...string[]];
  /** Inside a sandbox as the command sees it. */
  cwd: string;
  environment: Record<string, string>;
  /** As whom, where the platform is root; nobody else can change the user. */
  user: SystemUser;
  /** The home of that user, as the command sees it. */
  home: string;
  /** What it sees beside the machine's programs; a later one may lie inside an earlier one. Without a sandbox unused. */
  mounts: readonly Mount[];
  /** Whether files it makes are for itself alone. */
  privateFiles?: boolean;
};

export type WallsOptions = {
  setting: IsolationSetting;
  /** What a user other than root has to reach where there is no sandbox: the programs and the data folder. */
  mustPass: readonly string[];
  /** Where `bwrap` is looked for. */
  path?: string | undefined;
};

/**
 * Walls around code that is not ours: what is deployed, and what builds it. `isolation` is what is in force on
 * this machine, found out once by starting a sandbox. `enclose` turns a command into one that runs behind it, and
 * refuses where nothing may run. Start the result with `startEnclosed`.
 */
export type Walls = {
  isolation(): Promise<Isolation>;
  enclose(enclosure: Enclosure): Promise<Launch>;
};

const tmpBytes = 512 * 1024 * 1024;
const argsFd = 3;
const seccompFd = 4;

export function createWalls(options: WallsOptions): Walls {
  const isRoot = process.getuid?.() === 0;
  let isolation: Promise<Isolation> | undefined;
  let machine: Promise<MachineMounts> | undefined;
  const bubblewrap = findProgram("bwrap", options.path);

  async function findOut(): Promise<Isolation> {
    const { setting } = options;
    const sandbox =
      setting === "off"
        ? ({ works: false, reason: "TREADLE_ISOLATION=off", fix: "" } as const)
        : await probeSandbox(await bubblewrap, encloseInSandbox);
    return decideIsolation({ setting, isRoot, sandbox, closedFolder: await closedFolder() });
  }

  async function closedFolder(): Promise<string | null> {
    if (!isRoot) return null;
    for (const path of options.mustPass) {
      const closed = await findClosedFolder(path);
      if (closed !== null) return closed;
    }
    return null;
  }

  async function encloseInSandbox(enclosure: Enclosure): Promise<Launch> {
    machine ??= readMachineMounts();
    const { mounts, links } = await machine;
    const { uid, gid } = isRoot ? enclosure.user : { uid: process.getuid!(), gid: process.getgid!() };
    const filter = seccompFilter(process.arch);
    const files = [
      { at: "/etc/passwd", text: `agent:x:${uid}:${gid}::${enclosure.home}:/usr/sbin/nologin\n` },
      { at: "/etc/group", text: `agent:x:${gid}:\n` },
    ];
    const args = bubblewrapArguments({
      asRoot: isRoot,
      mounts: [
        ...mounts,
        ...(await nodeMounts()),
        ...(await certificateMounts(enclosure.environment)),
        ...enclosure.mounts,
      ],
      links,
      files: files.map(({ at }, place) => ({ fd: seccompFd + 1 + place, at })),
      seccompFd: filter === null ? null : seccompFd,
      cwd: enclosure.cwd,
      tmpBytes,
    });
    const program = (await bubblewrap) ?? "bwrap";
    const command = [...(isRoot ? becoming(enclosure.user) : []), ...enclosure.command];
    return {
      ...withLimits([program, "--args", String(argsFd), "--", ...command], enclosure),
      cwd: "/",
      user: null,
      inputs: [`${args.join("\0")}\0`, filter ?? "", ...files.map(({ text }) => text)],
      sandboxed: true,
    };
  }

  const isolationNow = () => {
    isolation ??= findOut();
    return isolation;
  };

  return {
    isolation: isolationNow,
    async enclose(enclosure) {
      const { kind, refusal } = await isolationNow();
      if (refusal !== null) throw isolationMissing(refusal);
      if (kind === "sandbox") return encloseInSandbox(enclosure);
      const user = kind === "users" ? enclosure.user : null;
      const rest = { cwd: enclosure.cwd, user, inputs: [], sandboxed: false };
      return { ...withLimits(enclosure.command, enclosure), ...rest };
    },
  };
}

/** No core files, whose readers nobody chose, and files for nobody else; both can only be set from inside. */
function withLimits(command: readonly string[], { environment, privateFiles = true }: Enclosure) {
  const script = `ulimit -c 0; umask ${privateFiles ? "077" : "022"}; exec "$@"`;
  return { program: "/bin/sh", args: ["-c", script, "treadle", ...command], env: environment };
}

/** From root to a user with no rights at all, for good. */
function becoming({ uid, gid }: SystemUser): string[] {
  const ids = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
  return ["setpriv", ...ids, "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--"];
}

export async function findProgram(
  name: string,
  path = "/usr/local/bin:/usr/bin:/bin",
): Promise<string | null> {
  for (const folder of path.split(delimiter)) {
    const program = join(folder, name);
    const found = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return program;
  }
  return null;
}
