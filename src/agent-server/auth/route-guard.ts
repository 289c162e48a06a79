import type { Database } from "../../platform/db/database.ts";
import { AppError, type ErrorCode } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { isUuid } from "../../platform/ids.ts";
import { absenceAsEvent } from "./absence-as-event.ts";
import type { AgentGuard } from "./agent-guard.ts";
import type { AgentRoute } from "./agent-route.ts";
import { type AuthFilter, metadataCondition } from "./auth-filter.ts";
import { isAdmitted, isItemAdmitted } from "./guarded-row-store.ts";
import { itemCondition } from "./item-filter.ts";
import type { GuardedRequest, GuardedRow, RouteRule, WrittenItem } from "./route-rules.ts";

export type RouteGuardOptions = {
  guard: AgentGuard;
  database: Database;
  /** A graph id is accepted everywhere an assistant id is. */
  assistantIdOf(id: string): string;
};

/**
 * Puts the project's authorization in front of the routes, as each route's own contract declares. The filter it returns
 * is checked against the row in the path, and passed on with the caller for routes that search for rows themselves.
 */
export function guardRoutes(routes: readonly AgentRoute[], options: RouteGuardOptions): AgentRoute[] {
  return routes.map((route) => {
    const rule = route.spec.guard;
    if (rule === null) return route;
    return {
      spec: route.spec,
      handle: (request) => {
        const answer = async () => route.handle(await permit(request, rule, options));
        const caller = request.caller as Caller | null;
        return rule.absenceAsEvent && caller?.principal ? absenceAsEvent(answer) : answer();
      },
    };
  });
}

async function permit(
  request: GuardedRequest,
  rule: RouteRule,
  options: RouteGuardOptions,
): Promise<GuardedRequest> {
  const caller = request.caller as Caller | null;
  if (!caller?.principal) return request;
  const { guard } = options;
  const value = rule.value(request);
  const filter = await guard.check(caller, rule.resource, rule.action, value);
  if (rule.also) await guard.check(caller, rule.resource, rule.also, { ...value });
  const changed = rule.changed ? rule.changed(request, value) : request;
  const row = rule.row?.(changed);
  if (row) await requireRow(caller, row, filter, options);
  if (rule.written) await requireWritten(rule.written(changed), filter, options);
  if (rule.runsOnThread) await requireRunnable(caller, request, options);
  return { ...changed, caller: { ...caller, ...(filter ? { rowFilter: filter } : {}) } as never };
}

/** What will start runs later must be allowed to start them now. */
async function requireRunnable(
  caller: Caller,
  request: GuardedRequest,
  options: RouteGuardOptions,
): Promise<void> {
  const { thread_id: id } = (request.params ?? {}) as { thread_id?: string };
  if (!id) return;
  const value = { thread_id: id, metadata: {}, kwargs: {} };
  const filter = await options.guard.check(caller, "threads", "create_run", value);
  await requireRow(caller, { kind: "thread", id }, filter, options);
}

/** A row the filter hides does not exist for the caller. */
export async function requireRow(
  caller: Caller,
  row: GuardedRow,
  filter: AuthFilter | undefined,
  options: Pick<RouteGuardOptions, "database" | "assistantIdOf">,
): Promise<void> {
  const condition = row.kind === "item" ? itemCondition(filter, "i") : metadataCondition(filter);
  if (!condition) return;
  const id = row.kind === "assistant" ? options.assistantIdOf(row.id) : row.id;
  if (row.kind !== "item" && !isUuid(id)) return;
  const found = await isAdmitted(options.database.sql, caller.workspaceId, { ...row, id }, condition);
  if (found === "hidden") throw notFound(row);
}

/** Callers may not write what the filter would hide from them. */
async function requireWritten(
  item: WrittenItem,
  filter: AuthFilter | undefined,
  { database }: Pick<RouteGuardOptions, "database">,
): Promise<void> {
  const condition = itemCondition(filter, "i");
  if (!condition || (await isItemAdmitted(database.sql, item, condition))) return;
  throw new AppError({
    code: "auth.forbidden",
    kind: "forbidden",
    message: "You are not permitted to write this item, because you may not read it (store:put).",
  });
}

const missing = {
  thread: "thread.not_found",
  assistant: "assistant.not_found",
  cron: "cron.not_found",
  run: "run.not_found",
  item: "item.not_found",
} as const satisfies Record<GuardedRow["kind"], ErrorCode>;

/** The same message as for a row that does not exist: the two must look alike. */
function notFound(row: GuardedRow): AppError {
  const { kind, id } =
    row.kind === "thread" && row.runId !== undefined ? { kind: "run" as const, id: row.runId } : row;
  const name = kind.charAt(0).toUpperCase() + kind.slice(1);
  return new AppError({
    code: missing[kind],
    kind: "not_found",
    message: `${name} with ID ${id} not found`,
  });
}
