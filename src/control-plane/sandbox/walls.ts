import { bubblewrapArguments, type Mount } from "./bubblewrap.ts";
import type { Launch } from "./enclosed-process.ts";
import { findProgram } from "./find-program.ts";
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
  /** The user of the command, if the platform is root; without root the user cannot be changed. */
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
  /** Whether the platform has credentials of a cluster. */
  besideCluster?: boolean;
  /** Files and folders with certificates that the operator named, for everybody. What a project names is not opened for it. */
  certificates?: readonly string[];
};

const tmpBytes = 512 * 1024 * 1024;
const argsFd = 3;
const seccompFd = 4;

/** What code that runs foreign code needs from the sandbox. */
export type Enclosing = Pick<Walls, "isolation" | "enclose">;

/**
 * Walls around code that is not ours: what is deployed, and what builds it. `isolation` is what is in force on
 * this machine, found out once by starting a sandbox. `enclose` turns a command into one that runs behind it, and
 * refuses where nothing may run. Start the result with `startEnclosed`.
 */
export class Walls {
  readonly #options: WallsOptions;
  readonly #isRoot = process.getuid?.() === 0;
  readonly #bubblewrap: Promise<string | null>;
  #isolation: Promise<Isolation> | undefined;
  #machine: Promise<MachineMounts> | undefined;

  constructor(options: WallsOptions) {
    this.#options = options;
    this.#bubblewrap = findProgram("bwrap", options.path);
  }

  isolation(): Promise<Isolation> {
    this.#isolation ??= this.#findOut();
    return this.#isolation;
  }

  async enclose(enclosure: Enclosure): Promise<Launch> {
    const { kind, refusal } = await this.isolation();
    if (refusal !== null) throw isolationMissing(refusal);
    if (kind === "sandbox") return this.#encloseInSandbox(enclosure);
    const user = kind === "users" ? enclosure.user : null;
    const rest = { cwd: enclosure.cwd, user, inputs: [], sandboxed: false };
    return { ...withLimits(enclosure.command, enclosure), ...rest };
  }

  async #findOut(): Promise<Isolation> {
    const { setting } = this.#options;
    const sandbox =
      setting === "off"
        ? ({ works: false, reason: "TREADLE_ISOLATION=off", fix: "" } as const)
        : await probeSandbox(await this.#bubblewrap, (enclosure) => this.#encloseInSandbox(enclosure));
    return decideIsolation({
      setting,
      isRoot: this.#isRoot,
      sandbox,
      closedFolder: await this.#closedFolder(),
      besideCluster: this.#options.besideCluster ?? false,
    });
  }

  async #closedFolder(): Promise<string | null> {
    if (!this.#isRoot) return null;
    for (const path of this.#options.mustPass) {
      const closed = await findClosedFolder(path);
      if (closed !== null) return closed;
    }
    return null;
  }

  async #encloseInSandbox(enclosure: Enclosure): Promise<Launch> {
    this.#machine ??= readMachineMounts();
    const { mounts, links } = await this.#machine;
    const isRoot = this.#isRoot;
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
        ...(await certificateMounts(this.#options.certificates ?? [])),
        ...enclosure.mounts,
      ],
      links,
      files: files.map(({ at }, place) => ({ fd: seccompFd + 1 + place, at })),
      seccompFd: filter === null ? null : seccompFd,
      cwd: enclosure.cwd,
      tmpBytes,
    });
    const program = (await this.#bubblewrap) ?? "bwrap";
    const command = [...(isRoot ? becoming(enclosure.user) : []), ...enclosure.command];
    return {
      ...withLimits([program, "--args", String(argsFd), "--", ...command], enclosure),
      cwd: "/",
      user: null,
      inputs: [`${args.join("\0")}\0`, filter ?? "", ...files.map(({ text }) => text)],
      sandboxed: true,
    };
  }
}

/** No core files, which others might read, and files for this user alone. Both can only be set from inside. */
function withLimits(command: readonly string[], { environment, privateFiles = true }: Enclosure) {
  const script = `ulimit -c 0; umask ${privateFiles ? "077" : "022"}; exec "$@"`;
  return { program: "/bin/sh", args: ["-c", script, "treadle", ...command], env: environment };
}

/** From root to a user with no rights at all, for good. */
function becoming({ uid, gid }: SystemUser): string[] {
  const ids = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
  return ["setpriv", ...ids, "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--"];
}
