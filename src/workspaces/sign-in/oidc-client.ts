import * as oauth from "oauth4webapi";
import type { Clock } from "../../platform/clock.ts";
import { errorMessage } from "../../platform/errors.ts";
import { type Claims, needsUserInfo, type Subject, subjectOf } from "./oidc-claims.ts";
import type { OidcConfig } from "./oidc-config.ts";
import { SignInProblem } from "./sign-in-problem.ts";

/** What a browser that was sent to the provider must bring back. */
export type Attempt = { state: string; nonce: string; verifier: string };

const timeoutMs = 10_000;
const metadataForMs = 10 * 60_000;
/** Between two machines that keep time. */
const clockToleranceSeconds = 30;

type OidcClientOptions = { config: OidcConfig; clock: Clock };

/** The protocol is the library's: authorization code with PKCE, state, nonce, issuer and signature checks. */
export class OidcClient {
  readonly #options: OidcClientOptions;
  readonly #issuer: URL;
  readonly #request: ReturnType<typeof requestOptions>;
  #metadata: { server: oauth.AuthorizationServer; until: number } | undefined;

  constructor(options: OidcClientOptions) {
    this.#options = options;
    this.#issuer = new URL(options.config.issuer);
    this.#request = requestOptions(this.#issuer);
  }

  newAttempt(): Attempt {
    return {
      state: oauth.generateRandomState(),
      nonce: oauth.generateRandomNonce(),
      verifier: oauth.generateRandomCodeVerifier(),
    };
  }

  /** Where the browser signs in. */
  async authorizationUrl(attempt: Attempt, redirectUri: string): Promise<URL> {
    const { config } = this.#options;
    const found = await this.#server();
    if (found.authorization_endpoint === undefined) {
      throw new SignInProblem("provider_refused", "The provider's metadata names no authorization endpoint.");
    }
    const url = new URL(found.authorization_endpoint);
    url.searchParams.set("client_id", config.clientId);
    url.searchParams.set("response_type", "code");
    url.searchParams.set("redirect_uri", redirectUri);
    url.searchParams.set("scope", config.scopes);
    url.searchParams.set("state", attempt.state);
    url.searchParams.set("nonce", attempt.nonce);
    url.searchParams.set("code_challenge", await oauth.calculatePKCECodeChallenge(attempt.verifier));
    url.searchParams.set("code_challenge_method", "S256");
    return url;
  }

  /** Who came back; throws a SignInProblem. */
  async finish(attempt: Attempt, answer: URLSearchParams, redirectUri: string): Promise<Subject> {
    const { config } = this.#options;
    const found = await this.#server();
    const own = this.#client();
    try {
      const checked = oauth.validateAuthResponse(found, own, answer, attempt.state);
      const response = await oauth.authorizationCodeGrantRequest(
        found,
        own,
        this.#clientAuth(found),
        checked,
        redirectUri,
        attempt.verifier,
        this.#request,
      );
      const tokens = await oauth.processAuthorizationCodeResponse(found, own, response, {
        expectedNonce: attempt.nonce,
        requireIdToken: true,
      });
      await oauth.validateApplicationLevelSignature(found, response, this.#request);
      const idClaims = oauth.getValidatedIdTokenClaims(tokens)!;
      let claims: Claims = { ...idClaims };
      if (found.userinfo_endpoint !== undefined && needsUserInfo(claims, config)) {
        const info = await oauth.userInfoRequest(found, own, tokens.access_token, this.#request);
        claims = { ...(await oauth.processUserInfoResponse(found, own, idClaims.sub, info)), ...claims };
      }
      return subjectOf(claims, config);
    } catch (error) {
      throw problemOf(error, "the sign-in");
    }
  }

  #client(): oauth.Client {
    const { clock, config } = this.#options;
    const skew = Math.round((clock.now().getTime() - Date.now()) / 1000);
    return {
      client_id: config.clientId,
      [oauth.clockSkew]: skew,
      [oauth.clockTolerance]: clockToleranceSeconds,
    };
  }

  /**
   * Read when a person signs in, and again after a while. If the provider could not be reached, the next sign-in asks
   * again.
   */
  async #server(): Promise<oauth.AuthorizationServer> {
    const now = this.#options.clock.now().getTime();
    if (this.#metadata && this.#metadata.until > now) return this.#metadata.server;
    try {
      const answer = await oauth.discoveryRequest(this.#issuer, { ...this.#request, algorithm: "oidc" });
      const found = await oauth.processDiscoveryResponse(this.#issuer, answer);
      this.#metadata = { server: found, until: now + metadataForMs };
      return found;
    } catch (error) {
      // What was known before is better than nothing while the provider is away.
      if (this.#metadata) return this.#metadata.server;
      throw problemOf(error, "its metadata");
    }
  }

  #clientAuth(found: oauth.AuthorizationServer): oauth.ClientAuth {
    const { clientSecret } = this.#options.config;
    if (clientSecret === undefined) return oauth.None();
    const methods = found.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    return methods.includes("client_secret_basic") || !methods.includes("client_secret_post")
      ? oauth.ClientSecretBasic(clientSecret)
      : oauth.ClientSecretPost(clientSecret);
  }
}

function requestOptions(issuer: URL) {
  return {
    // Only a loopback issuer may be plain http; the settings see to that.
    [oauth.allowInsecureRequests]: issuer.protocol === "http:",
    [oauth.customFetch]: (url: string, init: object) =>
      fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) }),
  };
}

/** The library's failures in this server's words; `about` completes "the provider's answer about …". */
function problemOf(error: unknown, about: string): SignInProblem {
  if (error instanceof SignInProblem) return error;
  if (error instanceof oauth.AuthorizationResponseError) {
    const denied = error.error === "access_denied";
    return new SignInProblem(
      denied ? "denied" : "provider_refused",
      `The provider answered ${error.error}: ${error.error_description ?? "without a reason"}`,
    );
  }
  if (error instanceof oauth.ResponseBodyError) {
    const problem = error.status >= 500 ? "provider_unreachable" : "provider_refused";
    const why = error.error_description ?? "without a reason";
    return new SignInProblem(problem, `The provider refused ${about}: ${error.error} (${why})`);
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    return new SignInProblem("provider_refused", "The provider does not accept the client id and secret.");
  }
  if (error instanceof oauth.OperationProcessingError) {
    const status = statusOf(error.cause);
    if (error.code === oauth.JWT_TIMESTAMP_CHECK) return new SignInProblem("clock", error.message, error);
    const away = status !== undefined && (status >= 500 || status === 429);
    return new SignInProblem(
      away ? "provider_unreachable" : "provider_refused",
      `The provider's answer about ${about} cannot be used: ${error.message}${status ? ` (status ${status})` : ""}`,
      error,
    );
  }
  // `fetch` fails with a TypeError, or with the deadline's error.
  return new SignInProblem("provider_unreachable", `${about}: ${errorMessage(error)}`, error);
}

/** By its shape: the HTTP server replaces the global Response, and what `fetch` gives is not one of those. */
function statusOf(cause: unknown): number | undefined {
  const status = (cause as { status?: unknown } | undefined)?.status;
  return typeof status === "number" ? status : undefined;
}
