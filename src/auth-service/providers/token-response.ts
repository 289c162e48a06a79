import { decodeJwt } from "jose";

/** The body of a token endpoint's answer, once it is known to be an object. */
type TokenBody = Record<string, unknown>;

/** What a provider granted. */
export type GrantedToken = {
  accessToken: string;
  refreshToken: string | null;
  /** Null: the provider did not send it. */
  expiresInSeconds: number | null;
  /** Null: the provider did not send them, so they are the ones asked for. */
  scopes: string[] | null;
  accountKey: string | null;
  accountLabel: string | null;
  /** Facts some providers send along that an agent needs, never a secret. */
  metadata: Record<string, string>;
};

export function splitScopes(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

/**
 * Brings the answers of well-known providers into the form of RFC 6749: form-encoded bodies, errors with status
 * 200, a nested user token, scopes as a list, a missing or unusual token type. What is already in that form, or
 * cannot be understood, stays as it is and is judged by the protocol library.
 */
export function conformTokenBody(
  status: number,
  contentType: string | null,
  text: string,
): { status: number; body: string; contentType: string | null } {
  const parsed = parseBody(contentType, text);
  if (parsed === null) return { status, body: text, contentType };
  const body = flattened(parsed);
  const failed = typeof body.error === "string" && typeof body.access_token !== "string";
  if (failed) {
    return {
      status: status === 200 ? 400 : status,
      body: JSON.stringify(body),
      contentType: "application/json",
    };
  }
  if (typeof body.access_token === "string") {
    if (Array.isArray(body.scope)) body.scope = body.scope.map(String).join(" ");
    if (body.scope === null) delete body.scope;
    if (body.refresh_token === null || body.refresh_token === "") delete body.refresh_token;
    if (body.expires_in === null || body.expires_in === "" || body.expires_in === 0) delete body.expires_in;
    if (typeof body.token_type !== "string" || body.token_type.toLowerCase() !== "dpop") {
      body.token_type = "bearer";
    }
  }
  return { status, body: JSON.stringify(body), contentType: "application/json" };
}

function parseBody(contentType: string | null, text: string): TokenBody | null {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === "application/x-www-form-urlencoded") return Object.fromEntries(new URLSearchParams(text));
  if (type.includes("html")) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as TokenBody) : null;
  } catch {
    return null;
  }
}

/** Slack puts a person's own token one level down. */
function flattened(body: TokenBody): TokenBody {
  const user = body.authed_user;
  if (typeof body.access_token === "string" || typeof user !== "object" || user === null) return { ...body };
  return { ...body, ...(user as TokenBody) };
}

const labelClaims = ["email", "preferred_username", "name"];

/** Reads what the protocol library has checked. */
export function readGrant(body: TokenBody, idToken: string | undefined): GrantedToken {
  const claims = readClaims(idToken);
  const account = accountOf(body, claims);
  return {
    accessToken: String(body.access_token),
    refreshToken: typeof body.refresh_token === "string" ? body.refresh_token : null,
    expiresInSeconds: typeof body.expires_in === "number" && body.expires_in > 0 ? body.expires_in : null,
    scopes: typeof body.scope === "string" && body.scope !== "" ? splitScopes(body.scope) : null,
    accountKey: account.key,
    accountLabel: account.label,
    metadata: typeof body.instance_url === "string" ? { instance_url: body.instance_url } : {},
  };
}

/**
 * The token comes straight from the token endpoint, whose identity the connection proves, so its signature needs no
 * check (OpenID Connect Core 3.1.3.7). It only distinguishes accounts and names them; it is not used to sign in.
 */
function readClaims(idToken: string | undefined): Record<string, unknown> {
  if (idToken === undefined) return {};
  try {
    return decodeJwt(idToken);
  } catch {
    return {};
  }
}

function accountOf(body: TokenBody, claims: Record<string, unknown>) {
  const label = labelClaims.map((name) => claims[name]).find(isShortText);
  if (isShortText(claims.sub)) {
    return { key: `sub:${claims.sub}`, label: label ?? claims.sub };
  }
  const team = body.team as { id?: unknown; name?: unknown } | undefined;
  if (isShortText(team?.id)) {
    return { key: `team:${team.id}`, label: isShortText(team.name) ? team.name : team.id };
  }
  if (isShortText(body.workspace_id)) {
    const name = isShortText(body.workspace_name) ? body.workspace_name : body.workspace_id;
    return { key: `workspace:${body.workspace_id}`, label: name };
  }
  return { key: null, label: null };
}

function isShortText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 320;
}
