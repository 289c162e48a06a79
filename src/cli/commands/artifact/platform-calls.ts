import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../../../platform/errors.ts";

/** What the platform refused stays refused. */
export class Refused extends Error {
  /** Of the platform's errors; null when it named none. */
  readonly code: string | null;

  constructor(message: string, code: string | null) {
    super(message);
    this.code = code;
  }
}

/** It has too much to do at this moment: others have their turn first. */
class Busy extends Error {}

const longestPauseMs = 15_000;
/** How long work is tried again: while the platform is away, and while it only asks to wait. */
type Patience = { awayMs: number; busyMs?: number };
const aMinute = { awayMs: 64_000 };

/** The platform, as the pod of one build asks it. It may be away for a moment: it is restarted while builds go on. */
export class PlatformCalls {
  readonly #url: string;
  readonly #token: string;
  readonly #firstPauseMs: number;

  constructor({ url, token, firstPauseMs = 1_000 }: { url: string; token: string; firstPauseMs?: number }) {
    this.#url = url;
    this.#token = token;
    this.#firstPauseMs = firstPauseMs;
  }

  get(path: string): Promise<Response> {
    return this.#call(path, () => ({ method: "GET" }));
  }

  post(path: string, body: unknown, signal: AbortSignal | null = null): Promise<Response> {
    const headers = { "content-type": "application/json" };
    return this.#call(path, () => ({ method: "POST", headers, body: JSON.stringify(body), signal }));
  }

  async put(path: string, body: () => Readable): Promise<void> {
    const headers = { "content-type": "application/zstd" };
    await this.#call(path, () => ({
      ...{ method: "PUT", headers, duplex: "half" },
      body: Readable.toWeb(body()) as ReadableStream<Uint8Array>,
    }));
  }

  async attempt<T>(work: () => Promise<T>, patience: Patience = aMinute): Promise<T> {
    const { awayMs, busyMs = awayMs } = patience;
    const begun = performance.now();
    for (let pauseMs = this.#firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        return await work();
      } catch (error) {
        if (error instanceof Refused) throw error;
        const leftMs = begun + (error instanceof Busy ? busyMs : awayMs) - performance.now();
        if (leftMs <= 0) throw error;
        await delay(Math.min(pauseMs, leftMs));
      }
    }
  }

  async #call(path: string, init: () => RequestInit): Promise<Response> {
    const given = init();
    const headers = { ...given.headers, authorization: `Bearer ${this.#token}` };
    const answer = await fetch(`${this.#url}${path}`, { ...given, headers }).catch((error: unknown) => {
      const cause =
        error instanceof Error && error.cause !== undefined ? ` (${errorMessage(error.cause)})` : "";
      throw new Error(`${new URL(this.#url).origin} does not answer: ${errorMessage(error)}${cause}`);
    });
    if (answer.ok) return answer;
    const text = (await answer.text()).slice(0, 500);
    const why = `${new URL(this.#url).origin} answers ${answer.status}: ${text}`;
    if (answer.status === 429) throw new Busy(why);
    if (answer.status >= 500) throw new Error(why);
    throw new Refused(why, answer.headers.get("x-error-code"));
  }
}
