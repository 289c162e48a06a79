import { lookup as dnsLookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { AppError, errorMessage } from "../errors.ts";
import { classifyAddress } from "./network-address.ts";
import { type PinnedRequest, type PinnedResponse, sendPinned } from "./pinned-request.ts";

export type Address = { address: string; family: 4 | 6 };

export type NetworkGuardOptions = {
  /** Private and loopback addresses are fine; link-local, metadata and multicast never are. */
  allowPrivateAddresses: boolean;
  /** All addresses of a name; the system's resolver by default. */
  resolve?: (hostname: string) => Promise<Address[]>;
};

/** A URL that may be used, with the addresses it was checked for: connect to these and to no others. */
export type CheckedUrl = { url: URL; hostname: string; addresses: Address[] };

export type GuardedInit = {
  method?: string;
  headers?: Record<string, string> | Headers;
  body?: string | Uint8Array;
  signal?: AbortSignal;
  /** For the whole exchange with all its redirects. */
  timeoutMs?: number;
  maxResponseBytes?: number;
  /** `manual` returns the redirect itself. */
  redirect?: "follow" | "manual";
  maxRedirects?: number;
};

const defaultTimeoutMs = 30_000;
const defaultMaxResponseBytes = 10 * 1024 * 1024;
const defaultMaxRedirects = 5;

/** Keeps outbound requests whose target a caller chose away from what only this machine can reach. */
export class NetworkGuard {
  readonly #options: NetworkGuardOptions;
  readonly #resolve: (hostname: string) => Promise<Address[]>;

  /**
   * For agents of libraries that open connections themselves. A connection to an IP literal never calls it, so
   * `checkUrl` must still come first.
   */
  readonly lookup: LookupFunction = (hostname, lookupOptions, callback) => {
    this.#addressesOf(hostname).then(
      (addresses) => {
        const fitting = addresses.filter(
          ({ family }) => !lookupOptions.family || family === lookupOptions.family,
        );
        const [first] = fitting;
        if (!first) callback(nameUnknown(hostname, "no address of the wanted family"), "", 4);
        else if (lookupOptions.all) callback(null, fitting);
        else callback(null, first.address, first.family);
      },
      (error) => callback(error as NodeJS.ErrnoException, "", 4),
    );
  };

  constructor(options: NetworkGuardOptions) {
    this.#options = options;
    this.#resolve = options.resolve ?? systemResolve;
  }

  async checkUrl(given: string | URL): Promise<CheckedUrl> {
    const url = parseUrl(given);
    return { url, hostname: url.hostname, addresses: await this.#addressesOf(url.hostname) };
  }

  /** Like `fetch`, but checked, pinned, bounded in time and size, and read whole. */
  async guardedFetch(url: string | URL, init: GuardedInit = {}): Promise<Response> {
    const deadline = AbortSignal.timeout(init.timeoutMs ?? defaultTimeoutMs);
    const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
    try {
      return await Promise.race([
        follow((given) => this.checkUrl(given), parseUrl(url), init, signal),
        whenAborted(signal),
      ]);
    } catch (error) {
      if (init.signal?.aborted) throw init.signal.reason;
      throw deadline.aborted ? timedOut(parseUrl(url), deadline) : error;
    }
  }

  async #addressesOf(hostname: string): Promise<Address[]> {
    const literal = hostname.replace(/^\[|\]$/g, "");
    const family = isIP(literal);
    const addresses =
      family === 0
        ? await resolveName(this.#resolve, hostname)
        : [{ address: literal, family: family as 4 | 6 }];
    for (const { address } of addresses) {
      const kind = classifyAddress(address);
      if (kind === "forbidden" || (kind === "private" && !this.#options.allowPrivateAddresses)) {
        throw addressRefused(hostname, kind);
      }
    }
    return addresses;
  }
}

async function follow(
  checkUrl: NetworkGuard["checkUrl"],
  start: URL,
  init: GuardedInit,
  signal: AbortSignal,
): Promise<Response> {
  let request: PinnedRequest = {
    url: start,
    method: (init.method ?? "GET").toUpperCase(),
    headers: new Headers(init.headers),
    body: init.body,
    addresses: [],
    maxResponseBytes: init.maxResponseBytes ?? defaultMaxResponseBytes,
    signal,
  };
  const maxRedirects = init.maxRedirects ?? defaultMaxRedirects;
  for (let redirects = 0; ; redirects++) {
    const { addresses } = await checkUrl(request.url);
    const answer = await sendPinned({ ...request, addresses });
    const location = redirectOf(answer);
    if (location === null || init.redirect === "manual") return toResponse(answer);
    if (redirects === maxRedirects) {
      throw new AppError({
        code: "network.too_many_redirects",
        kind: "bad_gateway",
        message: `${start.host} redirected more than ${maxRedirects} times.`,
      });
    }
    request = redirected(request, answer.status, parseUrl(location, request.url));
  }
}

/** The system's resolver cannot be stopped, so it is left behind. */
function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function redirectOf(answer: PinnedResponse): string | null {
  return [301, 302, 303, 307, 308].includes(answer.status) ? answer.headers.get("location") : null;
}

const credentialHeaders = ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-tenant-id"];

/** Credentials stay with the origin they were meant for; only 307 and 308 send the body again. */
function redirected(request: PinnedRequest, status: number, url: URL): PinnedRequest {
  if (request.url.protocol === "https:" && url.protocol === "http:") {
    throw refused(`${request.url.host} redirects from https to http, which is not followed.`);
  }
  const headers = new Headers(request.headers);
  if (url.origin !== request.url.origin) for (const name of credentialHeaders) headers.delete(name);
  const keepsBody = status === 307 || status === 308;
  const keepsMethod = keepsBody || request.method === "GET" || request.method === "HEAD";
  if (!keepsBody) for (const name of ["content-type", "content-length"]) headers.delete(name);
  return {
    ...request,
    url,
    headers,
    method: keepsMethod ? request.method : "GET",
    body: keepsBody ? request.body : undefined,
  };
}

function toResponse(answer: PinnedResponse): Response {
  const hasNoBody = answer.status === 204 || answer.status === 205 || answer.status === 304;
  return new Response(hasNoBody ? null : answer.body, { status: answer.status, headers: answer.headers });
}

/** The URL parser turns decimal, octal and hexadecimal forms of an address into the usual one. */
function parseUrl(given: string | URL, base?: URL): URL {
  let url: URL;
  try {
    url = new URL(given, base);
  } catch {
    throw refused("The address is not a valid URL. Give one that starts with https:// or http://.");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw refused(`Addresses must start with https:// or http://, not ${url.protocol}.`);
  }
  return url;
}

async function resolveName(
  resolve: (hostname: string) => Promise<Address[]>,
  hostname: string,
): Promise<Address[]> {
  let addresses: Address[];
  try {
    addresses = await resolve(hostname);
  } catch (error) {
    throw nameUnknown(hostname, errorMessage(error), error);
  }
  if (addresses.length === 0) throw nameUnknown(hostname, "no addresses");
  return addresses;
}

async function systemResolve(hostname: string): Promise<Address[]> {
  const found = await dnsLookup(hostname, { all: true, order: "verbatim" });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}

function nameUnknown(hostname: string, reason: string, cause?: unknown): AppError {
  return new AppError({
    code: "network.name_unknown",
    kind: "invalid",
    message: `The host name ${hostname} cannot be resolved. Check its spelling and the DNS settings.`,
    detail: { reason },
    retryable: true,
    cause,
  });
}

function addressRefused(hostname: string, kind: "private" | "forbidden"): AppError {
  return refused(
    kind === "private"
      ? `${hostname} is a private address, and requests to those are not permitted here. Use a public address; on a self-hosted server TREADLE_ALLOW_PRIVATE_ADDRESSES=true permits them.`
      : `${hostname} is a reserved address, and requests to those are never permitted. Use another address.`,
  );
}

function refused(message: string): AppError {
  return new AppError({ code: "network.address_refused", kind: "invalid", message });
}

function timedOut(url: URL, deadline: AbortSignal): AppError {
  return new AppError({
    code: "network.timeout",
    kind: "bad_gateway",
    message: `${url.host} did not answer in time.`,
    retryable: true,
    cause: deadline.reason,
  });
}
