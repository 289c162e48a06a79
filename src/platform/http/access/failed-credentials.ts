import { createHash } from "node:crypto";
import { databaseTrouble } from "../../db/database-errors.ts";
import { AppError } from "../../errors.ts";
import { addressesIn } from "../../network/network-address.ts";
import { isLoopbackHostname } from "./loopback.ts";

export type FailedCredentialsOptions = {
  /** Refusals a minute and address; 0: any number. */
  perMinute: number;
  /** Addresses and ranges of proxies, besides those on this machine. */
  trustedProxies?: readonly string[];
  /** A clock in milliseconds that only goes forward. */
  now?: () => number;
  /** Addresses and keys remembered; the oldest give way. */
  maxEntries?: number;
  /** Counts a refusal for all servers; without it each counts its own. Buckets are digests: they tell neither address nor key. */
  share?: ((buckets: readonly string[], windowMs: number) => Promise<SharedCount[]>) | undefined;
};

/** What all servers together have counted. */
export type SharedCount = { bucket: string; refusals: number; endsInMs: number };

type Count = { refusals: number; endsAt: number };

const windowMs = 60_000;
/** In a row, each speaking for the one before. */
const maxProxies = 8;
const rememberGoodMs = 10 * 60_000;
/** Tries for one key from many addresses are a guess too, but so may be a fleet with an old key. */
const keyFactor = 5;

/**
 * Slows down callers that guess credentials. Counts the refused ones per address, and per key prefix from any address,
 * and refuses further ones without checking them. A credential that was valid lately always passes: people behind one
 * address are not locked out by one of them. Refusals are counted for all servers of a database, and only a refusal
 * queries it. A server reads the count of the others at its own next refusal, so each checks at most one guess too
 * many.
 */
export class FailedCredentials {
  readonly #perMinute: number;
  readonly #now: () => number;
  readonly #maxEntries: number;
  readonly #share: FailedCredentialsOptions["share"];
  readonly #isProxy: (address: string) => boolean;
  readonly #counts = new Map<string, Count>();
  readonly #good = new Map<string, number>();

  constructor(options: FailedCredentialsOptions) {
    this.#perMinute = options.perMinute;
    this.#now = options.now ?? (() => performance.now());
    this.#maxEntries = options.maxEntries ?? 10_000;
    this.#share = options.share;
    this.#isProxy = addressesIn(options.trustedProxies ?? []);
  }

  /** Where a request comes from, by the address of its connection and the headers of trusted proxies. */
  addressOf(peer: string | undefined, headers: Headers): string | undefined {
    return clientAddress(peer, headers, this.#isProxy);
  }

  /** Throws 429 when this address, or tries for this key, are to wait. */
  admit(address: string | undefined, credential: string): void {
    for (const [name, limit] of this.#bucketsOf(address, credential)) {
      const count = this.#live(name);
      if (!count || count.refusals < limit) continue;
      if ((this.#good.get(digest(credential)) ?? 0) > this.#now()) return;
      throw tooMany(Math.ceil((count.endsAt - this.#now()) / 1000));
    }
  }

  accepted(credential: string): void {
    if (this.#perMinute === 0) return;
    const name = digest(credential);
    const until = this.#good.get(name) ?? 0;
    // Once a minute is enough to stay remembered.
    if (until - this.#now() > rememberGoodMs - windowMs) return;
    this.#good.delete(name);
    this.#good.set(name, this.#now() + rememberGoodMs);
    trim(this.#good, this.#maxEntries);
  }

  /** Counted here at once; resolves when it is counted for all. A database that does not take it leaves it at that. */
  async refused(address: string | undefined, credential: string): Promise<void> {
    const names = this.#bucketsOf(address, credential).map(([name]) => name);
    for (const name of names) {
      const count = this.#live(name) ?? { refusals: 0, endsAt: this.#now() + windowMs };
      count.refusals += 1;
      this.#counts.set(name, count);
      trim(this.#counts, this.#maxEntries);
    }
    if (!this.#share || names.length === 0) return;
    const byBucket = new Map(names.map((name) => [digest(name), name]));
    const counted = await this.#share([...byBucket.keys()], windowMs).catch((error: unknown) => {
      if (databaseTrouble(error)) return [];
      throw error;
    });
    for (const { bucket, refusals, endsInMs } of counted) {
      const name = byBucket.get(bucket)!;
      const own = this.#live(name)?.refusals ?? 0;
      this.#counts.set(name, { refusals: Math.max(own, refusals), endsAt: this.#now() + endsInMs });
    }
  }

  #bucketsOf(address: string | undefined, credential: string): [string, number][] {
    const perMinute = this.#perMinute;
    if (perMinute === 0 || address === undefined) return [];
    const start = keyStart(credential);
    return [
      [`address ${networkOf(address)}`, perMinute],
      ...(start === null ? [] : [[`key ${start}`, perMinute * keyFactor] as [string, number]]),
    ];
  }

  #live(name: string): Count | undefined {
    const count = this.#counts.get(name);
    if (!count || count.endsAt > this.#now()) return count;
    this.#counts.delete(name);
    return undefined;
  }
}

/**
 * Where a request comes from. The forwarding header of a proxy on this machine, or of a trusted one, names its client,
 * which may be another such proxy; from anybody else the header is ignored.
 */
function clientAddress(
  peer: string | undefined,
  headers: Headers,
  isProxy: (address: string) => boolean,
): string | undefined {
  if (peer === undefined) return undefined;
  const speaksForOthers = (address: string) =>
    isLoopbackHostname(unmapped(address)) || isProxy(unmapped(address));
  const named = headers.get("x-forwarded-for")?.split(",").slice(-maxProxies) ?? [];
  let address = peer;
  for (const forwarded of named.toReversed()) {
    const next = forwarded.trim().slice(0, 64);
    if (next === "" || !speaksForOthers(address)) break;
    address = next;
  }
  return address;
}

/** One household or server has a whole /64 of IPv6 to try from. */
function networkOf(address: string): string {
  const plain = unmapped(address);
  if (!plain.includes(":")) return plain;
  const [head = "", tail = ""] = plain.split("::");
  const left = head.split(":").filter(Boolean);
  const right = tail.split(":").filter(Boolean);
  const zeros = plain.includes("::") ? Array(Math.max(0, 8 - left.length - right.length)).fill("0") : [];
  return [...left, ...zeros, ...right].slice(0, 4).join(":");
}

function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

/** Null for tokens, which all begin alike. */
function keyStart(credential: string): string | null {
  return /^(tdt_)?eyJ/.test(credential) ? null : credential.slice(0, 12);
}

function digest(credential: string): string {
  return createHash("sha256").update(credential).digest("base64");
}

function trim(map: Map<string, unknown>, maxEntries: number): void {
  if (map.size <= maxEntries) return;
  const [oldest] = map.keys();
  map.delete(oldest!);
}

function tooMany(seconds: number): AppError {
  return new AppError({
    code: "request.too_many_failed_credentials",
    kind: "rate_limited",
    message: `Too many credentials were refused recently. Wait ${seconds} seconds, then try again with a valid one.`,
    headers: { "retry-after": String(seconds) },
  });
}
