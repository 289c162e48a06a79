import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { AppError } from "../../platform/errors.ts";
import type { Authenticator, Caller } from "../../platform/http/access/caller.ts";
import { type MonotonicClock, monotonicClock } from "../../platform/monotonic-clock.ts";
import type { Recognised } from "../listener-api/listener-wire.ts";
import type { AcceptedCredentials } from "./accepted-credentials.ts";
import { isAway, type PlatformClient } from "./platform-client.ts";

/** A key that was revoked on the platform works here no longer than that, */
const freshMs = 30_000;
/** or, while the platform cannot be asked, than that. */
const staleMs = 24 * 60 * 60_000;
/** So long after it could not be asked, callers that are known do not wait for it. */
const awayMs = 10_000;
/** Only those that the platform knows are kept, so that strangers cannot fill it. */
const rememberAtMost = 5_000;

type Credential = Parameters<PlatformClient["recognise"]>[0];
type Known = { caller: Caller; askedAtMs: number };

export type RemoteCallersOptions = {
  /** Knows the keys of this place itself. */
  local: Authenticator;
  client: Pick<PlatformClient, "recognise">;
  workspaceId: string;
  /** Is told about each that the platform knows. */
  accepted: AcceptedCredentials;
  clock?: MonotonicClock;
};

/**
 * Callers of deployments by the platform's own keys and tokens, as if they ran there. The rule:
 * - Only credentials in headers, and only those that the platform knows as its workspace's. No cookie and no address: to be
 *   on this machine proves nothing about a platform elsewhere.
 * - The rights are the platform's answer: role, scopes, and the one deployment of a token. Nothing here adds to them.
 * - In this place's own workspace, whatever was asked for. It is never a key of this place (`apiKeyId`), so nothing is made
 *   or bound in its name, and it has no accounts here.
 * - A process of a listener serves no API: the rights count for its deployments alone.
 */
export class RemoteCallers implements Authenticator {
  readonly #options: RemoteCallersOptions;
  readonly #clock: MonotonicClock;
  readonly #known = new LRUCache<string, Known>({ max: rememberAtMost });
  /** One question at a time about each credential. */
  readonly #asked = new Map<string, Promise<Caller>>();
  #awayUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: RemoteCallersOptions) {
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
  }

  async authenticate(headers: Headers, request?: Request): Promise<Caller | null> {
    const credential = {
      api_key: headers.get("x-api-key"),
      authorization: headers.get("authorization"),
      tenant_id: headers.get("x-tenant-id"),
    };
    if (credential.api_key === null && credential.authorization === null)
      return this.#options.local.authenticate(headers, request);
    const name = createHash("sha256").update(JSON.stringify(credential)).digest("base64");
    const known = this.#known.get(name);
    if (known && this.#ageOf(known) < freshMs) return known.caller;
    try {
      return await this.#options.local.authenticate(headers, request);
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== "unauthenticated") throw error;
    }
    const stale = known && this.#ageOf(known) < staleMs ? known.caller : null;
    if (stale && this.#clock.now() < this.#awayUntilMs) return stale;
    try {
      return await this.#askOnce(name, credential);
    } catch (error) {
      if (!isAway(error)) throw error;
      this.#awayUntilMs = this.#clock.now() + awayMs;
      if (stale) return stale;
      throw error;
    }
  }

  loopbackCaller(): Promise<Caller> {
    return this.#options.local.loopbackCaller();
  }

  #askOnce(name: string, credential: Credential): Promise<Caller> {
    const underway = this.#asked.get(name);
    if (underway) return underway;
    const asked = this.#ask(name, credential).finally(() => this.#asked.delete(name));
    this.#asked.set(name, asked);
    return asked;
  }

  async #ask(name: string, credential: Credential): Promise<Caller> {
    const askedAtMs = this.#clock.now();
    const answer = await this.#options.client.recognise(credential);
    if (answer.caller === null) {
      this.#known.delete(name);
      throw new AppError({
        code: "listener.caller_unknown",
        kind: "unauthenticated",
        message: answer.refusal ?? "The platform does not know this credential.",
      });
    }
    const caller = toCaller(answer.caller, this.#options.workspaceId);
    this.#known.set(name, { caller, askedAtMs });
    this.#options.accepted.add(credential);
    return caller;
  }

  #ageOf({ askedAtMs }: Known): number {
    return this.#clock.now() - askedAtMs;
  }
}

function toCaller(given: NonNullable<Recognised["caller"]>, workspaceId: string): Caller {
  return {
    organizationId: given.organization_id,
    workspaceId,
    userId: given.user_id,
    role: given.role,
    via: given.via,
    scopes: given.scopes,
    // Accounts are the platform's.
    mayUseAccounts: false,
    ...(given.deployment_id === null ? {} : { deploymentId: given.deployment_id }),
  };
}
