import { AppError } from "../errors.ts";
import { newId } from "../ids.ts";
import { within as settledWithin } from "../within.ts";
import type { BlobFailureCode } from "./blob-failure-code.ts";
import type { BlobStore } from "./blob-store.ts";
import { forOperator, platformFailure } from "./platform-failure.ts";

const checkMs = 10_000;
const keptMs = 10_000;
/** A probe does not wait longer for the first answer. */
const firstMs = 500;
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

/**
 * Whether the storage can be used. The answer is the last known one, at once; one that is older than
 * ten seconds is looked up again meanwhile.
 */
export class BlobHealth {
  readonly #store: BlobStore;
  #known: { at: number; problem: string | null } | undefined;
  #look: Promise<void> | undefined;

  constructor(store: BlobStore) {
    this.#store = store;
  }

  /** The code of what is wrong, or null. */
  async problem(): Promise<string | null> {
    if (!this.#known || performance.now() - this.#known.at > keptMs) {
      this.#look ??= this.#lookUp().finally(() => {
        this.#look = undefined;
      });
      if (!this.#known) await settledWithin(firstMs, this.#look);
    }
    return this.#known ? this.#known.problem : "blob.unreachable";
  }

  /** Never rejects, and ends when the storage does: one that hangs is asked once, not again and again. */
  async #lookUp(): Promise<void> {
    const listing = this.#store.list("checks/", { limit: 1 });
    const problem = await within(checkMs, () => listing).then(() => null, codeOf);
    this.#known = { at: performance.now(), problem };
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
