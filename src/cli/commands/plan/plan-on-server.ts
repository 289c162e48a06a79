import { z } from "zod";
import type { Plan } from "../../../workspaces/identity/workspace.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { openSession } from "../../client/session.ts";
import type { PlanOptions } from "./options.ts";
import { planText } from "./plan-text.ts";

const answer = z.looseObject({
  organization_id: z.string(),
  plan: z.string(),
  edition: z.string(),
  features: z.looseObject({ bulk_export: z.boolean() }),
});
const workspacePage = z.looseObject({ resources: z.array(z.looseObject({ organization_id: z.string() })) });

export async function showPlan(options: PlanOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await api.call(answer, "GET", await pathOf(api, options));
  output.data(found);
  output.line(planText(found));
}

export async function setPlan(plan: Plan, options: PlanOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await api.call(answer, "PUT", await pathOf(api, options), { body: { plan } });
  output.data(found);
  output.line(planText(found));
}

/** Every workspace a key opens is of one organization. */
async function pathOf(api: ApiClient, { organization }: PlanOptions): Promise<string> {
  const id =
    organization ??
    (await api.call(workspacePage, "GET", "/v2/workspaces", { query: { limit: 1 } })).resources[0]
      ?.organization_id ??
    "";
  return `/v2/organizations/${encodeURIComponent(id)}/plan`;
}
