import { afterAll, beforeAll, expect, test } from "vitest";
import type { AuditSpec } from "../src/platform/http/audit/audit.ts";
import { type AuditAction, auditActions } from "../src/platform/http/audit/audit-action.ts";
import type { Route } from "../src/platform/http/route.ts";
import { createTestApp } from "./support/app.ts";

let running: Awaited<ReturnType<typeof createTestApp>>;
beforeAll(async () => {
  running = await createTestApp();
});
afterAll(() => running.stop());

/** Areas whose changes the audit log records. Not runs, threads, chats and traces: they have their own records. */
const areas = ["/v1/", "/v2/", "/api/v1/bulk-exports"];

/** Routes that change something, or only look as if, and record nothing. */
const unrecorded: Record<string, string> = {
  update_current_session: "chooses what a browser shows",
  put_upload: "its address was made, and recorded, by create_upload_url",
  receive_push: "GitHub's; the revisions it makes name it",
  oauth_tokens_exist: "reads, and no secret",
  acknowledge_token_event: "marks a notice as read",
  create_github_installation_link: "answers that there is no app",
  create_forge_github_installation_link: "answers that there is no app",
  select_github_installation: "answers that there is no choice",
  select_forge_github_installation: "answers that there is no choice",
  take_listener_lease: "a process of a listener; what it is given is recorded",
  end_listener_lease: "a process of a listener",
  poll_listener: "reads, and no secret",
  report_of_listener: "the revisions it is about have their own timeline",
  recognise_caller: "reads",
  read_build_logs: "reads",
  read_deploy_logs: "reads",
  read_revision_deploy_logs: "reads",
  preview_bulk_export: "counts, and writes nothing",
  stream_playground: "asks a model; the trace it leaves names who asked",
};

function specsOf({ spec }: Route): readonly AuditSpec[] {
  if (!spec.audit) return [];
  return Array.isArray(spec.audit) ? spec.audit : [spec.audit as AuditSpec];
}

test("every route that changes keys, people, deployments, accounts or exports tells the audit log", () => {
  const silent = running.app.routes
    .filter(({ spec }) => spec.method !== "get" && areas.some((area) => spec.path.startsWith(area)))
    .filter((route) => specsOf(route).length === 0)
    .map(({ spec }) => spec.operationId);
  expect(silent.sort()).toEqual(Object.keys(unrecorded).sort());
});

test("every action of the catalogue is told by a route, or has its own test", () => {
  // What no route names: access decides it, or a job does it (src/workspaces/audit, src/control-plane/domains).
  const elsewhere: AuditAction[] = ["deployment.domain_lost", "request.refused", "audit_events.pruned"];
  const told = new Set<string>(running.app.routes.flatMap(specsOf).map(({ action }) => action));
  const missing = Object.keys(auditActions).filter(
    (action) => !told.has(action) && !elsewhere.includes(action as AuditAction),
  );
  expect(missing).toEqual([]);
});

test("no fact of an event is a secret", () => {
  const secret = /(^|[._])(key|api_key|token|secret|value|password|code|credentials|private_key)$/;
  const paths = running.app.routes
    .flatMap(specsOf)
    .flatMap(({ target, details }) => [target?.id, target?.name, ...Object.values(details ?? {})])
    .filter((path) => path !== undefined);
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => secret.test(path))).toEqual([]);
});
