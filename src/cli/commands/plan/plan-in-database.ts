import type { Config } from "../../../config/index.ts";
import { systemClock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import { AppError } from "../../../platform/errors.ts";
import type { Caller } from "../../../platform/http/access/caller.ts";
import { isUuid } from "../../../platform/ids.ts";
import { unasked } from "../../../workspaces/audit/audit-service.ts";
import { insertEvents } from "../../../workspaces/audit/audit-store.ts";
import { includesBulkExport, type Plan } from "../../../workspaces/identity/workspace.ts";
import { PlanService } from "../../../workspaces/tenants/plan-service.ts";
import { neverStarted, withInstallation } from "../../server/installation.ts";
import { findOperator } from "../../server/operator.ts";
import { createOutput } from "../../terminal/output.ts";
import type { PlanOptions } from "./options.ts";
import { planText } from "./plan-text.ts";

export async function showPlan(options: PlanOptions): Promise<void> {
  print(options, await onDatabase(options, ({ plans, organizationId }) => plans.planOf(organizationId)));
}

export async function setPlan(plan: Plan, options: PlanOptions): Promise<void> {
  const done = await onDatabase(options, async ({ plans, organizationId, operator, database }) => {
    await plans.setPlan(organizationId, plan);
    await insertEvents(database, [
      {
        ...unasked("organization.plan_changed", systemClock.now()),
        workspace_id: operator.workspaceId,
        organization_id: operator.organizationId,
        actor_kind: "system",
        via: "command line",
        target_kind: "organization",
        target_id: organizationId,
        details: { plan },
      },
    ]);
    return plan;
  });
  print(options, done);
}

type Ground = { plans: PlanService; organizationId: string; operator: Caller; database: Database };
type Found = { organizationId: string; plan: Plan; edition: Config["edition"] };

async function onDatabase(options: PlanOptions, work: (on: Ground) => Promise<Plan>): Promise<Found> {
  return withInstallation(options, async ({ config, database }) => {
    const operator = await findOperator(database.sql, config.workspaceId, systemClock.now());
    if (operator === null) throw neverStarted(config.dataDir);
    const organizationId = options.organization ?? operator.organizationId;
    if (!isUuid(organizationId)) throw noId(organizationId);
    const { edition } = config;
    const plans = new PlanService({ database, edition, firstWorkspaceId: () => undefined });
    return { organizationId, edition, plan: await work({ plans, organizationId, operator, database }) };
  });
}

function print(options: PlanOptions, { organizationId, plan, edition }: Found): void {
  const output = createOutput(options);
  const features = { bulk_export: includesBulkExport(edition, plan) };
  const found = { organization_id: organizationId, plan, edition, features };
  output.data(found);
  output.line(planText(found));
}

function noId(text: string): AppError {
  return new AppError({
    code: "organization.not_found",
    kind: "not_found",
    message: `"${text}" is not the id of an organization. GET /v2/workspaces names the organization of each workspace.`,
  });
}
