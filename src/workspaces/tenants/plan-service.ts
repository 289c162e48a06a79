import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { notTheInstallations, runsInstallation } from "../installation/installation.ts";
import { type Edition, includesBulkExport, type Plan, workspaceNotFound } from "./workspace.ts";
import { findPlan, findStoredWorkspace, savePlan } from "./workspace-store.ts";

/** An organization's plan and what it opens in this edition. */
export type PlanView = { organizationId: string; plan: Plan; edition: Edition; bulkExport: boolean };

export type PlanService = {
  planOf(organizationId: string): Promise<Plan>;
  setPlan(organizationId: string, plan: Plan): Promise<void>;
  /** Of the caller's own organization; of any for who runs the installation. */
  read(caller: Caller, organizationId: string): Promise<PlanView>;
  /** For who runs the installation alone: an organization must not raise its own plan. */
  change(caller: Caller, organizationId: string, plan: Plan): Promise<PlanView>;
  ofWorkspace(workspaceId: string): Promise<PlanView>;
};

export function createPlanService(options: {
  database: Database;
  edition: Edition;
  firstWorkspaceId(): string | undefined;
}): PlanService {
  const { database, edition, firstWorkspaceId } = options;

  async function planOf(organizationId: string): Promise<Plan> {
    const plan = await findPlan(database.sql, organizationId);
    if (!plan) throw organizationNotFound(organizationId);
    return plan;
  }

  async function setPlan(organizationId: string, plan: Plan): Promise<void> {
    if (!(await savePlan(database.sql, organizationId, plan))) throw organizationNotFound(organizationId);
  }

  async function view(organizationId: string): Promise<PlanView> {
    const plan = await planOf(organizationId);
    return { organizationId, plan, edition, bulkExport: includesBulkExport(edition, plan) };
  }

  return {
    planOf,
    setPlan,
    async read(caller, organizationId) {
      const isOwn = caller.organizationId === organizationId;
      if (!isOwn && !runsInstallation(caller, firstWorkspaceId())) throw organizationNotFound(organizationId);
      return view(organizationId);
    },
    async change(caller, organizationId, plan) {
      if (!runsInstallation(caller, firstWorkspaceId())) throw notTheInstallations();
      await setPlan(organizationId, plan);
      return view(organizationId);
    },
    async ofWorkspace(workspaceId) {
      const workspace = await findStoredWorkspace(database.sql, workspaceId);
      if (!workspace || workspace.deleted) throw workspaceNotFound(workspaceId);
      return view(workspace.organization_id);
    },
  };
}

function organizationNotFound(id: string): AppError {
  return new AppError({
    code: "organization.not_found",
    kind: "not_found",
    message: `Organization ID ${id} not found.`,
  });
}
