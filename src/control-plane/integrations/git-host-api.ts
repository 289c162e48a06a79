import { createPrivateKey } from "node:crypto";
import { importPKCS8, SignJWT } from "jose";
import { AppError } from "../../platform/errors.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import {
  apiUrlOf,
  type ListedRequest,
  type Place,
  pullRequestsPath,
  readPullRequests,
  readRepositories,
  repositoriesPath,
  waitMsOf,
} from "./git-host.ts";
import type { IntegrationCredentials, Repository } from "./integration.ts";

const pageSize = 100;
const maxPages = 10;
const maxRequestPages = 5;

/** `refused`: the host wants to be left alone for a while, or the token does not open the repository. */
export type OpenRequests =
  | { kind: "unchanged" }
  | { kind: "refused"; status: number; waitMs: number | null }
  | {
      kind: "listed";
      requests: ListedRequest[];
      /** Every request that changed since `since` is among them. */
      isComplete: boolean;
      /** For the next look; null where one answer does not hold everything. */
      etag: string | null;
    };

type CallInit = {
  method?: string;
  signal?: AbortSignal | undefined;
  etag?: string | null;
  timeoutMs?: number;
  redirect?: "manual";
};

/** A slow host must not prevent storing a credential. Redirects are not followed. */
const trial = { timeoutMs: 5_000, redirect: "manual" } as const;

/** The few calls to a git host, GitHub's or GitLab's API, that deployments need. */
export class GitHostApi {
  readonly #network: NetworkGuard;

  constructor(network: NetworkGuard) {
    this.#network = network;
  }

  /** A token that works now. */
  async tokenOf(place: Place, credentials: IntegrationCredentials, signal?: AbortSignal): Promise<string> {
    if (credentials.kind === "token") return credentials.token;
    if (credentials.kind === "ssh") throw sshOnly();
    const response = await this.#askForToken(place, credentials, { signal });
    const answer = (await readAnswer(response, apiUrlOf(place))) as { token?: unknown };
    if (typeof answer.token !== "string") throw noToken(place);
    return answer.token;
  }

  /**
   * Whether the host knows the credential. `unknown`: it cannot be asked now, it is an SSH key, or what answers is no API
   * of this kind, as a plain git server that wants a password.
   */
  async judge(
    place: Place,
    credentials: IntegrationCredentials,
  ): Promise<"accepted" | "refused" | "unknown"> {
    if (credentials.kind === "ssh") return "unknown";
    // What cannot be sent opens nothing.
    if (credentials.kind === "token" && !/^[\x21-\x7e]+$/.test(credentials.token)) return "refused";
    if (credentials.kind === "app" && !isPrivateKey(credentials.privateKey)) return "refused";
    try {
      const response =
        credentials.kind === "app"
          ? await this.#askForToken(place, credentials, trial)
          : await this.#call(
              `${apiUrlOf(place)}${repositoriesPath(place, "token", { pageSize: 1, page: 1 })}`,
              credentials.token,
              trial,
            );
      if (response.ok) return "accepted";
      const wantsPassword = /^basic\b/i.test(response.headers.get("www-authenticate") ?? "");
      return response.status === 401 && !wantsPassword ? "refused" : "unknown";
    } catch (error) {
      if (error instanceof AppError) return "unknown";
      throw error;
    }
  }

  async listRepositories(place: Place, credentials: IntegrationCredentials): Promise<Repository[]> {
    const token = await this.tokenOf(place, credentials);
    const found: Repository[] = [];
    for (let page = 1; page <= maxPages; page += 1) {
      const path = repositoriesPath(place, credentials.kind, { pageSize, page });
      const response = await this.#call(`${apiUrlOf(place)}${path}`, token, {});
      const list = readRepositories(place, await readAnswer(response, apiUrlOf(place)));
      found.push(...list);
      if (list.length < pageSize) break;
    }
    return found;
  }

  /** Open pull requests, the latest change first. Bounded; with an `etag` an answer without news costs the host nothing. */
  async openRequests(
    place: Place,
    token: string,
    look: { path: string; since: Date; etag: string | null; now: Date; signal: AbortSignal },
  ): Promise<OpenRequests> {
    const requests: ListedRequest[] = [];
    for (let page = 1; page <= maxRequestPages; page += 1) {
      const url = `${apiUrlOf(place)}${pullRequestsPath(place, look.path, { pageSize, page })}`;
      const etag = page === 1 ? look.etag : null;
      const response = await this.#call(url, token, { signal: look.signal, etag });
      if (response.status === 304) return { kind: "unchanged" };
      if (!response.ok)
        return { kind: "refused", status: response.status, waitMs: waitMsOf(response.headers, look.now) };
      const { found, count, oldest } = readPullRequests(place, await response.json());
      requests.push(...found);
      const isEnd = count < pageSize;
      if (isEnd || (oldest !== null && oldest < look.since)) {
        // A change on a later page leaves the first one as it is: only a list of one page can say "nothing new".
        const next = isEnd && page === 1 ? response.headers.get("etag") : null;
        return { kind: "listed", requests, isComplete: true, etag: next };
      }
    }
    return { kind: "listed", requests, isComplete: false, etag: null };
  }

  /** An app's key is exchanged for a token of an hour. */
  async #askForToken(
    place: Place,
    credentials: Extract<IntegrationCredentials, { kind: "app" }>,
    init: CallInit,
  ): Promise<Response> {
    const pem = createPrivateKey(credentials.privateKey).export({ type: "pkcs8", format: "pem" }).toString();
    const key = await importPKCS8(pem, "RS256");
    const jwt = await new SignJWT()
      .setProtectedHeader({ alg: "RS256" })
      .setIssuer(credentials.appId)
      .setIssuedAt(Math.floor(Date.now() / 1000) - 30)
      .setExpirationTime("9m")
      .sign(key);
    const url = `${apiUrlOf(place)}/app/installations/${encodeURIComponent(credentials.installationId)}/access_tokens`;
    return this.#call(url, jwt, { ...init, method: "POST" });
  }

  #call(url: string, token: string, { method = "GET", signal, etag, ...init }: CallInit): Promise<Response> {
    const headers = {
      accept: "application/vnd.github+json, application/json",
      authorization: `Bearer ${token}`,
      "x-github-api-version": "2022-11-28",
      ...(etag ? { "if-none-match": etag } : {}),
    };
    return this.#network.guardedFetch(url, { ...init, method, headers, ...(signal ? { signal } : {}) });
  }
}

async function readAnswer(response: Response, apiUrl: string): Promise<unknown> {
  if (response.ok) return response.json();
  throw new AppError({
    code: "integration.host_refused",
    kind: "bad_gateway",
    message: `${new URL(apiUrl).host} answered ${response.status}. Check that the integration's token is valid and may list repositories.`,
  });
}

function isPrivateKey(text: string): boolean {
  try {
    return createPrivateKey(text).asymmetricKeyType === "rsa";
  } catch {
    return false;
  }
}

function sshOnly(): AppError {
  return new AppError({
    code: "integration.no_token",
    kind: "invalid",
    message: "This integration holds an SSH key, which can read repositories but not list them.",
  });
}

function noToken({ host }: Place): AppError {
  return new AppError({
    code: "integration.host_refused",
    kind: "bad_gateway",
    message: `${host} gave no token for the app's installation. Check app_id, installation_id and the private key.`,
  });
}
