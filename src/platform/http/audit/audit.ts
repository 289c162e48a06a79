import type { ErrorKind } from "../../errors.ts";
import type { Caller } from "../access/caller.ts";
import type { AuditAction } from "./audit-action.ts";

/** Where a fact of an event is read, for example `params.key_id` or `body.secrets[].name`. */
export type FactPath = `${"params" | "query" | "body" | "answer"}.${string}`;

/** What the audit log records of a route. The row is committed before a 2xx or 3xx goes out. */
export type AuditSpec = {
  action: AuditAction;
  target?: { kind: string; id?: FactPath; name?: FactPath };
  /** Small facts by name. Never one that is a secret. */
  details?: Record<string, FactPath>;
  /** Only where this fact is given, or has this value. */
  when?: { fact: FactPath; is?: string };
};

/** An error of these kinds is a refusal; of any other, a failure. */
export const refusalKinds: ReadonlySet<ErrorKind> = new Set(["forbidden", "unauthenticated", "rate_limited"]);

export type AuditOutcome = "done" | "refused" | "failed";

export type AuditNote = {
  person?: { organizationId: string; workspaceId: string | null; userId: string; sessionId: string };
  apiKeyId?: string | null;
  /** Who acts in the workspace that it is about, where the request itself acted in another. */
  caller?: Caller;
  details?: Record<string, string>;
  /** For a refusal whose status is not an error: an answer that redirects a browser. */
  refused?: string;
};

export type AuditEntry = {
  action: AuditAction;
  outcome: AuditOutcome;
  status: number | null;
  errorCode: string | null;
  caller: Caller | null;
  note?: AuditNote | undefined;
  target: { kind: string; id?: string; name?: string } | null;
  details: Record<string, unknown>;
  peer: string | undefined;
  headers: Headers;
  requestId: string;
};

/** What the platform did on its own, without a request. */
export type OwnAction = Pick<AuditEntry, "action" | "details"> & {
  workspaceId: string;
  target: { kind: string; id: string };
};

export type AuditSink = {
  /** Resolves when the row is committed. */
  record(entry: AuditEntry): Promise<void>;
  /** Later, and bounded: of many alike some are written, the others counted. */
  noteRefusal(entry: AuditEntry): void;
  /** Resolves when the row is committed. */
  recordOwn(action: OwnAction): Promise<void>;
};

const maxText = 200;
const maxItems = 50;

type Facts = { params: unknown; query: unknown; body: unknown; answer: unknown };

export function factAt(path: FactPath, facts: Facts): unknown {
  let value: unknown = facts;
  const parts = path.split(".");
  for (const [index, part] of parts.entries()) {
    const isList = part.endsWith("[]");
    value = (value as Record<string, unknown> | null | undefined)?.[isList ? part.slice(0, -2) : part];
    if (!isList) continue;
    const rest = parts.slice(index + 1);
    if (!Array.isArray(value)) return undefined;
    return value.map((item) => rest.reduce((found, name) => found?.[name], item));
  }
  return value;
}

/** Texts, numbers, booleans and short lists of them; anything else is left out. */
export function plainFact(value: unknown): unknown {
  if (typeof value === "string") return plainText(value, maxText);
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (value instanceof Date) return value.toISOString();
  if (!Array.isArray(value)) return undefined;
  const items = value.slice(0, maxItems).map((item) => (Array.isArray(item) ? undefined : plainFact(item)));
  return items.filter((item) => item !== undefined);
}

export function specApplies({ when }: AuditSpec, facts: Facts): boolean {
  if (!when) return true;
  const value = factAt(when.fact, facts);
  return when.is === undefined ? value !== undefined && value !== null : value === when.is;
}

export function describe(spec: AuditSpec, facts: Facts): Pick<AuditEntry, "action" | "target" | "details"> {
  const textAt = (path: FactPath | undefined) => {
    const value = path && plainFact(factAt(path, facts));
    if (value === undefined) return undefined;
    return Array.isArray(value) ? value.join(",").slice(0, maxText) : String(value);
  };
  const id = textAt(spec.target?.id);
  const name = textAt(spec.target?.name);
  const found = Object.entries(spec.details ?? {}).map(([key, path]) => [
    key,
    plainFact(factAt(path, facts)),
  ]);
  return {
    action: spec.action,
    target: spec.target
      ? { kind: spec.target.kind, ...(id !== undefined && { id }), ...(name !== undefined && { name }) }
      : null,
    details: Object.fromEntries(found.filter(([, value]) => value !== undefined)),
  };
}

/** A text as JSON columns take it: cut, without NUL and half characters. */
export function plainText(text: string, length: number): string {
  return text.replaceAll("\0", "").slice(0, length).toWellFormed();
}
