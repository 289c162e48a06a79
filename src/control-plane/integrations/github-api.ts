import { createPrivateKey } from "node:crypto";
import { importPKCS8, SignJWT } from "jose";
import { AppError } from "../../platform/errors.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import { apiUrlOf, type Integration, type IntegrationCredentials, type Repository } from "./integration.ts";

type Place = Pick<Integration, "host" | "api_url">;
const pageSize = 100;
const maxPages = 10;

/** The few calls to a GitHub-compatible host that deployments need. */
export class GithubApi {
  readonly #network: NetworkGuard;

  constructor(network: NetworkGuard) {
    this.#network = network;
  }

  /** A token that works now. */
  async tokenOf(place: Place, credentials: IntegrationCredentials, signal?: AbortSignal): Promise<string> {
    if (credentials.kind === "token") return credentials.token;
    if (credentials.kind === "ssh") throw sshOnly();
    const pem = createPrivateKey(credentials.privateKey).export({ type: "pkcs8", format: "pem" }).toString();
    const key = await importPKCS8(pem, "RS256");
    const jwt = await new SignJWT()
      .setProtectedHeader({ alg: "RS256" })
      .setIssuer(credentials.appId)
      .setIssuedAt(Math.floor(Date.now() / 1000) - 30)
      .setExpirationTime("9m")
      .sign(key);
    const url = `${apiUrlOf(place)}/app/installations/${encodeURIComponent(credentials.installationId)}/access_tokens`;
    const answer = (await this.#call(url, jwt, "POST", signal)) as { token?: unknown };
    if (typeof answer.token !== "string") throw noToken(place);
    return answer.token;
  }

  async listRepositories(place: Place, credentials: IntegrationCredentials): Promise<Repository[]> {
    const token = await this.tokenOf(place, credentials);
    const isApp = credentials.kind === "app";
    const found: Repository[] = [];
    for (let page = 1; page <= maxPages; page += 1) {
      const path = isApp ? "/installation/repositories" : "/user/repos";
      const answer = await this.#call(`${apiUrlOf(place)}${path}?per_page=${pageSize}&page=${page}`, token);
      const list = (isApp ? (answer as { repositories?: unknown }).repositories : answer) as unknown;
      if (!Array.isArray(list)) break;
      found.push(...list.map(toRepository));
      if (list.length < pageSize) break;
    }
    return found;
  }

  async #call(url: string, token: string, method = "GET", signal?: AbortSignal): Promise<unknown> {
    const headers = {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${token}`,
      "x-github-api-version": "2022-11-28",
    };
    const response = await this.#network.guardedFetch(url, {
      method,
      headers,
      ...(signal ? { signal } : {}),
    });
    if (response.ok) return response.json();
    throw new AppError({
      code: "integration.host_refused",
      kind: "bad_gateway",
      message: `${new URL(url).host} answered ${response.status}. Check that the integration's token is valid and may list repositories.`,
    });
  }
}

function toRepository(given: Record<string, unknown>): Repository {
  const owner = (given.owner ?? {}) as { login?: unknown };
  return {
    id: Number(given.id),
    name: String(given.name),
    owner: String(owner.login ?? ""),
    url: String(given.clone_url ?? given.html_url ?? ""),
    default_branch: String(given.default_branch ?? "main"),
  };
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
