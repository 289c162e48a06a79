import { lchown } from "node:fs/promises";
import { killUser } from "../runtimes/process-table.ts";
import { chooseUser, type ServerUser } from "../runtimes/server-user.ts";
import { runStep } from "./build-step.ts";

type Place = { workFolder: string; timeoutMs: number; signal: AbortSignal; onLine(line: string): void };

const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };

/**
 * Commands of a project run as a user of its workspace, so that they read neither the platform's files nor what is
 * built for others. One user per workspace and not per build: its package cache is worth keeping, and shared among
 * workspaces it would let one of them put something into another's build.
 */
export function createBuildUsers() {
  const builds = new Map<number, number>();

  async function own(paths: string[], owner: string, place: Place): Promise<void> {
    // Neither follows a link, however often it is exchanged meanwhile.
    await runStep({ ...place, command: "chown", args: ["-hR", owner, "--", ...paths], cwd: "/", env });
  }

  return {
    /** The user, or why there is none. `release` it when the build is over. */
    async take(workspaceId: string, mustPass: readonly string[]): Promise<ServerUser | { reason: string }> {
      const user = await chooseUser(`build:${workspaceId}`, mustPass);
      if ("uid" in user) builds.set(user.uid, (builds.get(user.uid) ?? 0) + 1);
      return user;
    },
    /** Of the folders that are empty, or were filled by the same user, only they themselves change hands. */
    async handOver(
      user: ServerUser,
      given: { tree: string; folders: string[] },
      place: Place,
    ): Promise<void> {
      for (const folder of given.folders) await lchown(folder, user.uid, user.gid);
      await own([given.tree], `${user.uid}:${user.gid}`, place);
    },
    /** What was built belongs to the platform again, and everybody may read it. */
    async takeBack(user: ServerUser, tree: string, place: Place): Promise<void> {
      // By the user itself: as root it could be led to files elsewhere.
      await runStep({ ...place, command: "chmod", args: ["-R", "a+rX", "."], cwd: tree, env, user });
      await own([tree], "0:0", place);
    },
    /** With the last build of a workspace everything that any of them left running ends. */
    async release(user: ServerUser): Promise<void> {
      const left = (builds.get(user.uid) ?? 1) - 1;
      if (left > 0) {
        builds.set(user.uid, left);
        return;
      }
      builds.delete(user.uid);
      await killUser(user.uid);
    },
  };
}
