import { spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Runs `work` while holding an exclusive lock that other processes respect. The lock belongs to the kernel
 * (flock), so a test run that is killed leaves none behind.
 */
export async function withFileLock<T>(path: string, timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const seconds = String(Math.ceil(timeoutMs / 1000));
  const holder = spawn("flock", ["--exclusive", "--wait", seconds, path, "sh", "-c", "echo held; cat"], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(holder, "exit");
  await Promise.race([
    once(holder.stdout, "data"),
    ended.then(() => {
      throw new Error(
        `Could not lock ${path} within ${seconds} s: another process holds it. See \`fuser ${path}\`.`,
      );
    }),
  ]);
  try {
    return await work();
  } finally {
    holder.stdin.end(); // `cat` sees the end of its input and the lock goes with it
    await ended;
  }
}
