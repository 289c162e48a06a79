import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { looksLikeJwt } from "../../platform/http/access/jwt-shape.ts";
import { type MonotonicClock, monotonicClock } from "../../platform/monotonic-clock.ts";
import type { AcceptedCredentials } from "./accepted-credentials.ts";
import { isAway, type PlatformClient } from "./platform-client.ts";

/** What the platform said is asked again after that, */
const freshMs = 30_000;
/** and so long after it could not be asked nobody waits for it. */
const awayMs = 10_000;
const rememberAtMost = 5_000;
/** What the platform takes as a key that was chosen. */
const chosenKey = /^[\x21-\x7e]{16,4096}$/;

export type RemoteKeysOptions = {
  client: Pick<PlatformClient, "recognise">;
  accepted: AcceptedCredentials;
  /** What is known here without asking: by its beginning, by who signed it, or as a key of this place. */
  isLocal(text: string): Promise<boolean>;
  clock?: MonotonicClock;
};

/**
 * Whether a text is a credential of the platform, which no project may see. A key that an operator chose may look like anything, so
 * the platform is asked about texts that may be one. It is not asked while it has no such keys: tokens of a project are then not sent to it.
 * What could be a key, and cannot be asked about, is not passed on: the request is refused as one to come again with.
 */
export class RemoteKeys {
  readonly #options: RemoteKeysOptions;
  readonly #clock: MonotonicClock;
  /** By the hash of the text, when the platform said that it is none. */
  readonly #strangers = new LRUCache<string, number>({ max: rememberAtMost });
  readonly #asked = new Map<string, Promise<boolean>>();
  /** When the platform said that all of its keys are known by their beginning. */
  #noneChosenAtMs: number | undefined;
  #away: { untilMs: number; error: unknown } | undefined;

  constructor(options: RemoteKeysOptions) {
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
  }

  async has(text: string): Promise<boolean> {
    const { accepted, isLocal } = this.#options;
    if (accepted.has(text) || (await isLocal(text))) return true;
    if (!chosenKey.test(text) || looksLikeJwt(text)) return false;
    const name = createHash("sha256").update(text).digest("base64");
    const toldAtMs = this.#noneChosenAtMs ?? this.#strangers.get(name);
    if (toldAtMs !== undefined && this.#clock.now() - toldAtMs < freshMs) return false;
    try {
      return await this.#askOnce(name, text);
    } catch (error) {
      // What it said last holds while it is away.
      if (isAway(error) && toldAtMs !== undefined) return false;
      throw error;
    }
  }

  #askOnce(name: string, text: string): Promise<boolean> {
    const underway = this.#asked.get(name);
    if (underway) return underway;
    const asked = this.#ask(name, text).finally(() => this.#asked.delete(name));
    this.#asked.set(name, asked);
    return asked;
  }

  async #ask(name: string, text: string): Promise<boolean> {
    const now = this.#clock.now();
    if (this.#away && now < this.#away.untilMs) throw this.#away.error;
    const credential = { api_key: text, authorization: null, tenant_id: null };
    const answer = await this.#options.client.recognise(credential).catch((error: unknown) => {
      if (isAway(error)) this.#away = { untilMs: this.#clock.now() + awayMs, error };
      throw error;
    });
    this.#away = undefined;
    if (answer.is_credential ?? answer.caller !== null) {
      this.#options.accepted.add(credential);
      // There are such keys, whatever was said before.
      this.#noneChosenAtMs = undefined;
      return true;
    }
    this.#noneChosenAtMs = answer.has_chosen_keys === false ? now : undefined;
    this.#strangers.set(name, now);
    return false;
  }
}
