import type { Caller } from "../../platform/http/access/caller.ts";
import type { AuditEntry, AuditNote, AuditOutcome } from "../../platform/http/audit/audit.ts";
import { plainText } from "../../platform/http/audit/audit.ts";
import type { AuditAction } from "../../platform/http/audit/audit-action.ts";
import type { ConsoleSession } from "../sessions/console-session.ts";

export const actorKinds = ["person", "service", "loopback", "anonymous", "system"] as const;
export type ActorKind = (typeof actorKinds)[number];
export const outcomes = ["done", "refused", "failed"] as const satisfies AuditOutcome[];

/** One row, in the names of its columns. */
export type AuditEvent = {
  id: string;
  workspace_id: string | null;
  organization_id: string | null;
  at: Date;
  action: AuditAction;
  outcome: AuditOutcome;
  status: number | null;
  error_code: string | null;
  actor_kind: ActorKind;
  via: string | null;
  user_id: string | null;
  api_key_id: string | null;
  session_id: string | null;
  target_kind: string | null;
  target_id: string | null;
  target_name: string | null;
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
  details: Record<string, unknown>;
};

const maxUserAgent = 200;
const maxRequestId = 100;

export function eventOf(
  entry: AuditEntry,
  made: { id: string; at: Date; address: string | undefined },
): AuditEvent {
  const { target, headers, note } = entry;
  return {
    ...actorOf(entry),
    id: made.id,
    at: made.at,
    action: entry.action,
    outcome: entry.outcome,
    status: entry.status,
    error_code: entry.errorCode,
    target_kind: target?.kind ?? null,
    target_id: target?.id ?? null,
    target_name: target?.name ?? null,
    address: made.address === undefined ? null : plainText(made.address, 64),
    user_agent: headers.has("user-agent") ? plainText(headers.get("user-agent")!, maxUserAgent) : null,
    request_id: entry.requestId === "" ? null : plainText(entry.requestId, maxRequestId),
    details: { ...entry.details, ...note?.details },
  };
}

type Actor = Pick<
  AuditEvent,
  "workspace_id" | "organization_id" | "actor_kind" | "via" | "user_id" | "api_key_id" | "session_id"
>;

export const nobody: Actor = {
  workspace_id: null,
  organization_id: null,
  actor_kind: "anonymous",
  via: null,
  user_id: null,
  api_key_id: null,
  session_id: null,
};

function actorOf({ caller, note }: AuditEntry): Actor {
  const acting = note?.caller ?? caller;
  if (acting) return actorOfCaller(acting);
  if (!note?.person) return nobody;
  return {
    workspace_id: note.person.workspaceId,
    organization_id: note.person.organizationId,
    actor_kind: "person",
    via: "console",
    user_id: note.person.userId,
    api_key_id: note.apiKeyId ?? null,
    session_id: note.person.sessionId,
  };
}

/** Who has just signed in: the route was open, so there was no caller. */
export function signedInNote(session: ConsoleSession): AuditNote {
  return {
    person: {
      organizationId: session.organization_id,
      workspaceId: session.workspace_id,
      userId: session.user_id,
      sessionId: session.id,
    },
    apiKeyId: session.api_key_id,
    details: { method: session.method },
  };
}

function actorOfCaller(caller: Caller): Actor {
  const isService = caller.via === "service";
  return {
    workspace_id: caller.workspaceId,
    organization_id: caller.organizationId,
    actor_kind: isService ? "service" : caller.via === "loopback" ? "loopback" : "person",
    via: caller.via,
    // A service is no user: there the id is the key's.
    user_id: isService ? null : caller.userId,
    api_key_id: caller.apiKeyId ?? (isService ? caller.userId : null),
    session_id: caller.sessionId ?? null,
  };
}
