import type { ChildProcess } from "node:child_process";
import type * as Compiler from "typescript/unstable/async";

/** What the compiler's client keeps to itself: closing it in order asks a process that may not answer any more. */
type Inside = { client?: { process?: ChildProcess; close?(): Promise<void> } };

/** Works with a compiler of its own for as long as the limit allows; then the compiler's process is killed. */
export async function withCompiler<T>(
  api: Compiler.API,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`the compiler took longer than ${limitMs / 1000} s`);
    limit.abort(error);
    kill(api);
    reject(error);
  }, limitMs);
  const working = work(limit.signal).finally(() => (limit.signal.aborted ? kill(api) : api.close()));
  // After the limit nobody waits for this promise: its failure must not end the process.
  working.catch(() => undefined);
  try {
    return await Promise.race([working, late]);
  } finally {
    clearTimeout(timer);
  }
}

function kill(api: Compiler.API): void {
  const { client } = api as unknown as Inside;
  client?.process?.kill("SIGKILL");
  // Closing makes the requests fail that still wait. The close itself may fail too: the process is dead already.
  (client?.close?.() ?? api.close()).catch(() => undefined);
}
