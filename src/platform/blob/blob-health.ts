import { AppError } from "../errors.ts";
import { newId } from "../ids.ts";
import { KnownProblem } from "../known-problem.ts";
import type { BlobFailureCode } from "./blob-failure-code.ts";
import type { BlobStore } from "./blob-store.ts";
import { forOperator, platformFailure } from "./platform-failure.ts";

const checkMs = 10_000;
/** What may pass by itself: a server starts nevertheless, and says so. */
const passing: ReadonlySet<string> = new Set<BlobFailureCode>(["blob.unreachable", "blob.busy", "blob.full"]);

export function mayPass(error: unknown): error is AppError {
  return error instanceof AppError && passing.has(error.code);
}

/** Writes a small object, reads, lists and removes it: the only proof that all four are permitted. Fails with words for the operator. */
export async function checkBlobStore(store: BlobStore): Promise<void> {
  await within(checkMs, async (signal) => {
    const key = `checks/${newId()}`;
    await store.put(key, Buffer.from("Treadle checked that it can write here.\n"));
    const found = await store.get(key, { signal });
    found?.stream.destroy();
    await store.list(key, { limit: 1 });
    await store.remove(key);
  }).catch((error: unknown) => {
    throw forOperator(error);
  });
}

/** Whether the storage can be used. */
export class BlobHealth {
  readonly #store: BlobStore;
  readonly #known: KnownProblem;

  constructor(store: BlobStore) {
    this.#store = store;
    this.#known = new KnownProblem({
      lookUp: (found) => this.#lookUp(found),
      untilKnown: "blob.unreachable",
    });
  }

  /** The code of what is wrong, or null. */
  problem(): Promise<string | null> {
    return this.#known.problem();
  }

  async #lookUp(found: (problem: string | null) => void): Promise<void> {
    const listing = this.#store.list("checks/", { limit: 1 });
    found(await within(checkMs, () => listing).then(() => null, codeOf));
    await listing.catch(() => undefined);
  }
}

/** An error without a code is a defect. The code that uses the storage gets the same error, and logs it. */
function codeOf(error: unknown): string {
  return error instanceof AppError ? error.code : "blob.refused";
}

async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ms).unref();
  const silence = new Promise<never>((_resolve, reject) => {
    late.signal.addEventListener("abort", () =>
      reject(platformFailure("blob.unreachable", "The storage did not respond in time.", null)),
    );
  });
  try {
    return await Promise.race([work(late.signal), silence]);
  } finally {
    clearTimeout(timer);
  }
}
