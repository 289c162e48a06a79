import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { unpackTree } from "../../../control-plane/builds/artifact-pack.ts";
import { UnsafeArchive } from "../../../control-plane/builds/unpack-guard.ts";
import { errorMessage } from "../../../platform/errors.ts";

const attempts = 6;
/** Others fetch at the same time, and have their turn first. */
const queueMs = 5 * 60_000;

type Problem = { why: string; passes: boolean; retryAfterMs?: number };

/** The platform may be away for a moment; what it refuses stays refused. */
export async function fetchArtifact(given: {
  url: string;
  folder: string;
  tokenFile: string;
}): Promise<void> {
  const token = (await readFile(given.tokenFile, "utf8")).trim();
  const queuedUntil = performance.now() + queueMs;
  for (let attempt = 1; ; attempt += 1) {
    let problem = await fetchOnce(given, token);
    while (problem?.retryAfterMs !== undefined && performance.now() < queuedUntil) {
      await delay(problem.retryAfterMs);
      problem = await fetchOnce(given, token);
    }
    if (problem === null) return;
    if (!problem.passes || attempt === attempts) throw new Error(problem.why);
    await delay(250 * 2 ** attempt);
  }
}

async function fetchOnce(
  { url, folder }: { url: string; folder: string },
  token: string,
): Promise<Problem | null> {
  try {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    if (answer.status !== 200 || !answer.body) {
      const text = (await answer.text()).slice(0, 500);
      return {
        why: `${new URL(url).origin} answers ${answer.status}: ${text}`,
        passes: answer.status >= 500,
        ...(answer.status === 429 ? { retryAfterMs: retryAfterOf(answer) } : {}),
      };
    }
    await unpackTree(Readable.fromWeb(answer.body), folder);
    return null;
  } catch (error) {
    if (error instanceof UnsafeArchive) return { why: error.message, passes: false };
    const cause =
      error instanceof Error && error.cause !== undefined ? ` (${errorMessage(error.cause)})` : "";
    return { why: `${errorMessage(error)}${cause}`, passes: true };
  }
}

function retryAfterOf({ headers }: Response): number {
  const seconds = Number(headers.get("retry-after"));
  return 1_000 * Math.min(Math.max(Number.isFinite(seconds) ? seconds : 0, 1), 30);
}
