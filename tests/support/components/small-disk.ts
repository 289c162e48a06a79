import { constants } from "node:fs";
import { open, rm } from "node:fs/promises";
import { runCommand } from "./run-command.ts";
import { createTempFolder } from "./temp-folder.ts";

export interface SmallDisk {
  path: string;
  /** Takes all the room that is left. */
  fill(file: string): Promise<void>;
  free(file: string): Promise<void>;
  unmount(): Promise<void>;
}

/** A disk of so many megabytes, in memory: really full when it is full. Only root may mount one. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await createTempFolder("small-disk");
  try {
    await runCommand("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=755`, "tmpfs", folder.path]);
  } catch (error) {
    await folder.remove();
    throw new Error("This test mounts a small disk: run it as root, in a container with CAP_SYS_ADMIN.", {
      cause: error,
    });
  }
  return {
    path: folder.path,
    async fill(file) {
      const handle = await open(file, constants.O_CREAT | constants.O_WRONLY);
      try {
        for (const size of [1 << 20, 4096]) {
          const piece = Buffer.alloc(size);
          for (;;) {
            const { bytesWritten } = await handle.write(piece);
            if (bytesWritten < size) break;
          }
        }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      } finally {
        await handle.close();
      }
    },
    free: (file) => rm(file),
    async unmount() {
      await runCommand("umount", [folder.path]);
      await folder.remove();
    },
  };
}
