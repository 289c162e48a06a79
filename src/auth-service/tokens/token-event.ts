import { createHmac } from "node:crypto";

export const tokenEventTypes = [
  "connected",
  "reconnected",
  "imported",
  "refresh_failed",
  "disconnected",
  "revoked",
  // The token of an earlier consent, which a new one replaced.
  "earlier_revoked",
  "earlier_left",
  "deleted_locally",
] as const;
export type TokenEventType = (typeof tokenEventTypes)[number];

/** What happened to a token, for its owner. */
export type TokenEvent = {
  id: string;
  workspace_id: string;
  owner_id: string;
  token_id: string;
  provider_id: string;
  agent_id: string | null;
  event_type: TokenEventType;
  /** A short code, for programs. */
  reason: string | null;
  /** Who noticed: a reader, the background job, a person, … */
  source: string | null;
  provider_account_label: string | null;
  scopes: string[];
  /** A sentence, for people. */
  detail: string | null;
  acknowledged_at: Date | null;
  created_at: Date;
};

export const signatureHeader = "x-treadle-signature";

/** `t=<unix seconds>,v1=<hex>`, the HMAC-SHA256 of `<t>.<body>`: with the time in it, an old request cannot be sent again. */
export function signEvent(secret: string, body: string, sentAt: Date): string {
  const seconds = Math.floor(sentAt.getTime() / 1000);
  const mac = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
  return `t=${seconds},v1=${mac}`;
}
