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
