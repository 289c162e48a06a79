import { createHash } from "node:crypto";
import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import { sameText } from "../../platform/encryption/same-text.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { returnPath } from "./page-request.ts";

/** Long enough to sign in, at a provider too. */
export const entryLifetimeMs = 10 * 60_000;

const content = z.object({ browser: z.string(), path: z.string(), until: z.number() });

/** One attempt to enter the pages at an origin: by which browser, and where it wants to go. */
export type EntryState = { path: string; isOf(browser: string): boolean };

/** `browser` is the secret of the entry cookie, of which the state holds no more than the hash. */
export class EntryStates {
  readonly #secretBox: SecretBox;
  readonly #clock: Clock;

  constructor({ secretBox, clock }: { secretBox: SecretBox; clock: Clock }) {
    this.#secretBox = secretBox;
    this.#clock = clock;
  }

  /** Sealed, because it is part of URLs: others must not be able to choose where the browser ends up. */
  make({ origin, browser, target }: { origin: string; browser: string; target: string }): string {
    const until = this.#clock.now().getTime() + entryLifetimeMs;
    const value: z.infer<typeof content> = { browser: hashOf(browser), path: returnPath(target), until };
    return this.#secretBox.seal(JSON.stringify(value), contextOf(origin));
  }

  /** Null: too old, of another origin, or not made by this platform. */
  open(state: string, origin: string): EntryState | null {
    let text: string;
    try {
      text = this.#secretBox.open(state, contextOf(origin));
    } catch {
      // Sealed for another origin, not sealed here, or with a key that is gone: the same as none.
      return null;
    }
    const found = content.safeParse(JSON.parse(text));
    if (!found.success || found.data.until <= this.#clock.now().getTime()) return null;
    const { browser, path } = found.data;
    return { path: returnPath(path), isOf: (secret) => sameText(browser, hashOf(secret)) };
  }
}

function contextOf(origin: string): string {
  return `page-entry:${origin}`;
}

function hashOf(secret: string): string {
  return createHash("sha256").update(`page entry ${secret}`).digest("base64url");
}
