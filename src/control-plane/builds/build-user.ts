import { createHash, randomInt } from "node:crypto";
import { chmod, lchown, lstat, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { IsolationKind } from "../sandbox/isolation.ts";
import { findClosedFolder } from "../sandbox/system-user.ts";
import type { BuildPlace } from "./build-request.ts";
import { runStep } from "./build-step.ts";
import { endUser } from "./left-processes.ts";

export type BuildUser = { uid: number; gid: number };

/** The user that a project's commands run as, and the folders it has meanwhile. */
export type BuildLease = {
  /** Undefined: the platform's own, because of `reason`. */
  user: BuildUser | undefined;
  reason: string | null;
  home: string;
  scratch: string;
  cache: string;
};

/** Records which user's processes a build may have; a later start of the platform ends them. */
export const userFile = "build-user.json";

const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
/** Far above the users of people, services and deployed servers; no entry in the password file is needed. */
const firstUid = 2_000_000;
const uids = 1_000_000_000;

/**
 * Each build has a system user that no other build has at the time. So it can neither read nor change the files of the
 * platform or of another build, and everything it left running can be found. A workspace has one package cache: one
 * build uses it at a time, as the user that filled it. A second build at the same time starts with an empty cache.
 */
export class BuildUsers {
  readonly #cacheFolder: string;
  readonly #isolation: () => Promise<IsolationKind>;
  readonly #taken = new Set<number>();
  readonly #caches = new Set<string>();

  constructor(cacheFolder: string, isolation: () => Promise<IsolationKind>) {
    this.#cacheFolder = cacheFolder;
    this.#isolation = isolation;
  }

  /** Runs the work with a user and folders of its own; nothing of that user's is left when it is over. */
  async withUser<T>(
    workspaceId: string,
    tree: string,
    place: BuildPlace,
    work: (lease: BuildLease) => Promise<T>,
  ): Promise<T> {
    const { workFolder } = place;
    const hasCache = !this.#caches.has(workspaceId);
    if (hasCache) this.#caches.add(workspaceId);
    const lease: BuildLease = {
      user: undefined,
      reason: null,
      home: join(workFolder, "home"),
      scratch: join(workFolder, "tmp"),
      cache: hasCache ? join(this.#cacheFolder, workspaceId) : join(workFolder, "cache"),
    };
    try {
      await this.#makeFolders(lease);
      lease.reason = await this.#whyNobodyElse(workFolder);
      if (lease.reason !== null) return await work(lease);
      const uid = this.#chooseUid(workspaceId, hasCache);
      this.#taken.add(uid);
      try {
        return await asUser({ uid, gid: uid }, lease, tree, place, work);
      } finally {
        this.#taken.delete(uid);
      }
    } finally {
      if (hasCache) this.#caches.delete(workspaceId);
    }
  }

  /** Gives what was built back to the platform, readable for every user. No other process can change it by now. */
  async takeBack(user: BuildUser, tree: string, place: BuildPlace): Promise<void> {
    await endUser(user.uid);
    // By the user itself: as root it could be led to files elsewhere.
    await runStep({ ...place, command: "chmod", args: ["-R", "a+rX", "."], cwd: tree, env, user });
    await own([tree], "0:0", place);
  }

  async #makeFolders({ home, scratch, cache }: BuildLease): Promise<void> {
    await mkdir(this.#cacheFolder, { recursive: true, mode: 0o711 });
    for (const folder of [home, scratch, cache]) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await chmod(folder, 0o700);
    }
  }

  /** Null if commands can run as another user. */
  async #whyNobodyElse(workFolder: string): Promise<string | null> {
    if (process.getuid?.() !== 0) return "the platform does not run as root";
    if (!(await isMapped(firstUid + uids))) return "this container has no free user ids";
    const isolation = await this.#isolation();
    // A sandbox mounts the folders; without one, the user must be able to reach them by path.
    if (isolation === "sandbox") return null;
    if (isolation === "none") return "this machine does not isolate deployed code";
    for (const path of [workFolder, this.#cacheFolder, process.execPath]) {
      const closed = await findClosedFolder(path);
      if (closed !== null) return `other users cannot access ${closed}`;
    }
    return null;
  }

  /** By the cache it goes with: another platform on this machine must not end the builds of this one. */
  #chooseUid(workspaceId: string, hasCache: boolean): number {
    const cache = `build:${join(this.#cacheFolder, workspaceId)}`;
    const usual = firstUid + (createHash("sha256").update(cache).digest().readUInt32BE(0) % uids);
    if (hasCache && !this.#taken.has(usual)) return usual;
    for (;;) {
      const uid = firstUid + randomInt(uids);
      if (!this.#taken.has(uid)) return uid;
    }
  }
}

async function asUser<T>(
  user: BuildUser,
  lease: BuildLease,
  tree: string,
  place: BuildPlace,
  work: (lease: BuildLease) => Promise<T>,
): Promise<T> {
  const owner = `${user.uid}:${user.gid}`;
  await writeFile(join(place.workFolder, userFile), JSON.stringify(user), { mode: 0o600 });
  // Ends processes that used this uid before, for example of a build whose platform was killed.
  await endUser(user.uid);
  for (const folder of [lease.home, lease.scratch]) await lchown(folder, user.uid, user.gid);
  if ((await lstat(lease.cache)).uid !== user.uid) await own([lease.cache], owner, place);
  await own([tree], owner, place);
  try {
    return await work({ ...lease, user });
  } finally {
    await endUser(user.uid);
  }
}

/** For `owner` as `chown` takes it. */
export async function own(paths: string[], owner: string, place: BuildPlace): Promise<void> {
  // Neither follows a link, however often it is exchanged meanwhile.
  await runStep({ ...place, command: "chown", args: ["-hR", owner, "--", ...paths], cwd: "/", env });
}

/** A container may know only some of the machine's users. */
async function isMapped(uid: number): Promise<boolean> {
  const text = await readFile("/proc/self/uid_map", "utf8").catch(() => null);
  if (text === null) return true;
  return text
    .trim()
    .split("\n")
    .some((line) => {
      const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
      return uid >= first && uid < first + count;
    });
}
