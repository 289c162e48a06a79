import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import { hostOf, type OAuthClient, providerTimeoutMs } from "../providers/oauth-client.ts";
import { describeOAuthFailure, OAuthFailure, providerFailed } from "../providers/oauth-failure.ts";
import type { Provider } from "../providers/provider.ts";
import type { RevocationStyle } from "../providers/provider-template.ts";
import { knownRevocation } from "../providers/provider-templates.ts";

export type RevocationRequest = {
  provider: Provider;
  clientSecret: string | null;
  accessToken: string;
  refreshToken: string | null;
};

/** `no_endpoint`: the provider offers no way to revoke. A refusal is thrown. */
export type RevocationOutcome = "revoked" | "no_endpoint";

/** Providers' errors for a token that is not valid any more: then there is nothing left to revoke. */
const alreadyInvalid = new Set([
  "invalid_token",
  "invalid_grant",
  "token_not_found",
  "token_expired",
  "expired_token",
  "token_revoked",
  "invalid_auth",
  "account_inactive",
  "bad_token",
]);

const step = "the revocation of a token";

type TokenRevocationOptions = {
  guard: NetworkGuard;
  client: OAuthClient;
};

/** Revokes a token at its provider, by the provider's own method. */
export class TokenRevocation {
  readonly #options: TokenRevocationOptions;

  constructor(options: TokenRevocationOptions) {
    this.#options = options;
  }

  async revoke(request: RevocationRequest): Promise<RevocationOutcome> {
    const known = knownRevocation(request.provider);
    if (known === null) return "no_endpoint";
    try {
      if (known.style === "rfc7009") await this.#standard(known.url, request);
      else await this.#special(known.style, known.url, request);
    } catch (error) {
      throw describeOAuthFailure(error, {
        host: hostOf(known.url),
        step,
        secrets: [request.clientSecret, request.accessToken, request.refreshToken],
      });
    }
    return "revoked";
  }

  async #standard(url: string, request: RevocationRequest): Promise<void> {
    const { provider, clientSecret, accessToken, refreshToken } = request;
    const revoke = async (token: string, hint: "access_token" | "refresh_token") => {
      try {
        await this.#options.client.revoke(provider, clientSecret, { url, token, hint });
        return true;
      } catch (error) {
        if (!(error instanceof OAuthFailure)) throw error;
        if (error.providerError !== null && alreadyInvalid.has(error.providerError)) return true;
        if (error.providerError === "unsupported_token_type") return false;
        throw error;
      }
    };
    // The refresh token first: with it the whole grant ends, and the access token at most servers too.
    const refreshGone = refreshToken !== null && (await revoke(refreshToken, "refresh_token"));
    const accessGone = await revoke(accessToken, "access_token");
    if (!refreshGone && !accessGone) throw refused(url, "unsupported_token_type");
    if (refreshToken !== null && !refreshGone) throw refused(url, "unsupported_token_type");
  }

  async #special(
    style: Exclude<RevocationStyle, "rfc7009">,
    template: string,
    request: RevocationRequest,
  ): Promise<void> {
    const { provider, clientSecret, accessToken } = request;
    const url = template.replaceAll("{client_id}", encodeURIComponent(provider.client_id));
    const basic = `Basic ${Buffer.from(`${provider.client_id}:${clientSecret ?? ""}`).toString("base64")}`;
    const bearer = `Bearer ${accessToken}`;
    const isJson = style === "github" || style === "json_basic";
    const body = JSON.stringify(style === "github" ? { access_token: accessToken } : { token: accessToken });
    const answer = await this.#options.guard.guardedFetch(url, {
      method: style === "github" ? "DELETE" : "POST",
      headers: {
        accept: "application/json",
        authorization: isJson ? basic : bearer,
        ...(isJson && { "content-type": "application/json" }),
      },
      ...(isJson && { body }),
      timeoutMs: providerTimeoutMs,
      redirect: "manual",
    });
    const reason = readError(await answer.text());
    if (reason !== null && alreadyInvalid.has(reason)) return;
    if (style === "slack" && reason !== null) throw refused(url, reason);
    if (answer.status < 300) return;
    // Bearer: the token does not even authorise itself. GitHub: the grant does not exist.
    if (style === "bearer" && answer.status === 401) return;
    if (style === "github" && (answer.status === 404 || answer.status === 422)) return;
    if (answer.status >= 500 || answer.status === 429)
      throw providerFailed(hostOf(url), step, answer.status, reason ?? undefined);
    throw refused(url, reason ?? `status ${answer.status}`);
  }
}

function readError(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" && /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(error) ? error : null;
  } catch {
    return null;
  }
}

function refused(url: string, reason: string): OAuthFailure {
  return new OAuthFailure({
    failure: "refused",
    code: "oauth.refused",
    message: `${hostOf(url)} refused the revocation of a token: ${reason}.`,
    providerError: reason,
  });
}
