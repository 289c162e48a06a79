import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { type Edition, includesBulkExport, type Plan, workspaceNotFound } from "../identity/workspace.ts";
import { findPlan, findStoredWorkspace, savePlan } from "../identity/workspace-store.ts";
import { notTheInstallations, runsInstallation } from "./installation.ts";

/** An organization's plan and what it opens in this edition. */
export type PlanView = { organizationId: string; plan: Plan; edition: Edition; bulkExport: boolean };

type PlanServiceOptions = {
  database: Database;
  edition: Edition;
  firstWorkspaceId(): string | undefined;
};

/** The plans of organizations. */
export class PlanService {
  readonly #options: PlanServiceOptions;

  constructor(options: PlanServiceOptions) {
    this.#options = options;
  }

  async planOf(organizationId: string): Promise<Plan> {
    const plan = await findPlan(this.#options.database.sql, organizationId);
    if (!plan) throw organizationNotFound(organizationId);
    return plan;
  }

  async setPlan(organizationId: string, plan: Plan): Promise<void> {
    if (!(await savePlan(this.#options.database.sql, organizationId, plan)))
      throw organizationNotFound(organizationId);
  }

  /** Of the caller's own organization; of any for who runs the installation. */
  async read(caller: Caller, organizationId: string): Promise<PlanView> {
    const isOwn = caller.organizationId === organizationId;
    if (!isOwn && !runsInstallation(caller, this.#options.firstWorkspaceId()))
      throw organizationNotFound(organizationId);
    return this.#view(organizationId);
  }

  /** For who runs the installation alone: an organization must not raise its own plan. */
  async change(caller: Caller, organizationId: string, plan: Plan): Promise<PlanView> {
    if (!runsInstallation(caller, this.#options.firstWorkspaceId())) throw notTheInstallations();
    await this.setPlan(organizationId, plan);
    return this.#view(organizationId);
  }

  async ofWorkspace(workspaceId: string): Promise<PlanView> {
    const workspace = await findStoredWorkspace(this.#options.database.sql, workspaceId);
    if (!workspace || workspace.deleted) throw workspaceNotFound(workspaceId);
    return this.#view(workspace.organization_id);
  }

  async #view(organizationId: string): Promise<PlanView> {
    const { edition } = this.#options;
    const plan = await this.planOf(organizationId);
    return { organizationId, plan, edition, bulkExport: includesBulkExport(edition, plan) };
  }
}

function organizationNotFound(id: string): AppError {
  return new AppError({
    code: "organization.not_found",
    kind: "not_found",
    message: `Organization ID ${id} not found.`,
  });
}
