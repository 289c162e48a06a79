import { createHash } from "node:crypto";
import { sameText } from "../../platform/encryption/same-text.ts";
import { AppError } from "../../platform/errors.ts";
import { isUuid } from "../../platform/ids.ts";

export const authorizationStatuses = ["pending", "claimed", "completed", "failed"] as const;
export type AuthorizationStatus = (typeof authorizationStatuses)[number];

/** A consent on its way: asked for, not yet given. */
export type Authorization = {
  id: string;
  workspace_id: string;
  provider: string;
  provider_id: string;
  initiator_id: string;
  /** `agent`: the account is for an agent, and any editor of the workspace may lend theirs. */
  subject_kind: "user" | "agent";
  subject: string;
  agent_id: string;
  state_hash: string;
  code_verifier_sealed: string | null;
  /** Where the person gives consent; null once the consent came to an end. */
  url_sealed: string | null;
  redirect_uri: string;
  scopes: string[];
  is_default: boolean;
  renews_token_id: string | null;
  status: AuthorizationStatus;
  failure: string | null;
  token_id: string | null;
  created_at: Date;
  expires_at: Date;
};

export const authorizationLifeMs = 60 * 60_000;

/** What is kept about a consent that was postponed. */
export const declined = "declined";

/** Refused by a person: at the provider, or by declining the consent here. */
export function isDenied(failure: string | null): boolean {
  return failure === declined || failure === "access_denied";
}

/** `state` names the request and proves, by its random part, that it comes from the person who got the consent URL. */
export function formatState(authId: string, secret: string): string {
  return `${authId}.${secret}`;
}

export function parseState(state: string): { authId: string; secret: string } | null {
  const [authId, secret, ...rest] = state.split(".");
  if (authId === undefined || secret === undefined || rest.length > 0 || !isUuid(authId)) return null;
  return { authId, secret };
}

export function hashState(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

export function isStateOf(authorization: Pick<Authorization, "state_hash">, secret: string): boolean {
  return sameText(hashState(secret), authorization.state_hash);
}

/** What providers may answer instead of a code (RFC 6749 4.1.2.1 and OpenID); anything else is not repeated. */
const knownErrors = new Set([
  "access_denied",
  "invalid_request",
  "unauthorized_client",
  "unsupported_response_type",
  "invalid_scope",
  "server_error",
  "temporarily_unavailable",
  "interaction_required",
  "login_required",
  "consent_required",
  "invalid_target",
]);

export function failureOf(error: string): string {
  return knownErrors.has(error) ? error : "provider_error";
}

/** One answer for everything that is wrong with `state`, so that guessing reveals nothing. */
export function stateRefused(): AppError {
  return new AppError({
    code: "authorization.invalid_state",
    kind: "invalid",
    message:
      "This consent is not known, has expired or was finished already. Start it again from where you came.",
  });
}

export function consentNotFound(authId: string): AppError {
  return new AppError({
    code: "authorization.not_found",
    kind: "not_found",
    message: `Consent ${authId.slice(0, 100)} not found. It may have expired, or was started by another user.`,
  });
}

export function notTheInitiator(): AppError {
  return new AppError({
    code: "authorization.other_user",
    kind: "forbidden",
    message:
      "This consent was started by another user, so it cannot be finished with this credential. The user who started it must finish it.",
  });
}

export function consentFailed(failure: string): AppError {
  if (isDenied(failure)) {
    return new AppError({
      code: "authorization.denied",
      kind: "invalid",
      message: `The consent was denied (${failure}). Nothing was connected. To connect the account, start again.`,
    });
  }
  return new AppError({
    code: "authorization.refused",
    kind: "invalid",
    message: `The provider did not complete the consent: ${failure}. Nothing was connected.`,
  });
}
