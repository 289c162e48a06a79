import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { id, time } from "../wire/wire-fields.ts";
import { type Domain, domainProblems, domainStates, problemText, proofOf } from "./domain.ts";
import type { DomainService } from "./domain-service.ts";

const tag = "Deployments (v2)";
const read = { kind: "workspace", role: "viewer", scope: ["read", "deploy"] } as const;
const write = { kind: "workspace", role: "editor", scope: "deploy" } as const;
const params = z.object({ deployment_id: id });
const oneParams = params.extend({
  domain: z.string().max(300).describe("The host, such as agent.example.com."),
});

export const deploymentDomain = z
  .object({
    domain: z.string(),
    state: z.enum(domainStates).describe("It is served while it is verified."),
    url: z.string().describe("Where the deployment is served at its root, once it is verified."),
    record: z
      .object({ type: z.literal("TXT"), name: z.string(), value: z.string() })
      .describe("What proves in DNS that the domain is for this deployment."),
    problem: z
      .object({ code: z.enum(domainProblems), message: z.string() })
      .nullable()
      .describe("Why the last check did not verify it, or did not find the proof of a verified one again."),
    checked_at: time.nullable(),
    verified_at: time.nullable(),
    missing_since: time
      .nullable()
      .describe(
        "Since when the proof of a verified domain is missing. After a day it is not verified any more.",
      ),
    expires_at: time.nullable().describe("When it is removed, unless it is verified by then."),
    created_at: time,
  })
  .meta({ id: "DeploymentDomain" });

const one = { description: "The domain", schema: deploymentDomain };

export type UrlOfDomain = (domain: string) => string;

export function domainRoutes(service: DomainService, urlOf: UrlOfDomain): Route[] {
  const wire = (domain: Domain) => toDomainWire(domain, urlOf);
  return [
    route(
      {
        method: "get",
        path: "/v2/deployments/{deployment_id}/domains",
        operationId: "list_deployment_domains",
        summary: "List the domains of a deployment",
        ...{ tag, access: read, params },
        responses: {
          200: {
            description: "All of them, by name",
            schema: z.object({ resources: z.array(deploymentDomain) }),
          },
        },
        errors: [404],
      },
      async ({ caller, params: { deployment_id } }) =>
        json(200, { resources: (await service.list(caller, deployment_id)).map(wire) }),
    ),
    route(
      {
        method: "post",
        path: "/v2/deployments/{deployment_id}/domains",
        operationId: "add_deployment_domain",
        summary: "Add a domain to a deployment",
        description:
          "The deployment is served at the root of that host as soon as the TXT `record` of the answer is found in DNS. It is looked for at once, and by POST …/verify. A domain that is not verified within seven days is removed. Twenty at most; previews have none.",
        ...{ tag, access: write, params },
        audit: {
          action: "deployment.domain_added",
          target: { kind: "deployment", id: "params.deployment_id" },
          details: { domain: "answer.domain", state: "answer.state" },
        },
        body: z.object({
          domain: z.string().min(1).max(1_000).describe("A host, such as agent.example.com."),
        }),
        responses: { 201: one },
        errors: [400, 404, 409, 429],
      },
      async ({ caller, params: { deployment_id }, body }) =>
        json(201, wire(await service.add(caller, deployment_id, body.domain))),
    ),
    route(
      {
        method: "post",
        path: "/v2/deployments/{deployment_id}/domains/{domain}/verify",
        operationId: "verify_deployment_domain",
        summary: "Look for the proof of a domain now",
        description:
          "Asks DNS for the record. The newest proof decides: it also takes the domain from a deployment that proved it before, unless the record of that one is still there. A workspace has 30 checks a minute, those of added domains included.",
        ...{ tag, access: write, params: oneParams },
        audit: {
          action: "deployment.domain_checked",
          target: { kind: "deployment", id: "params.deployment_id" },
          details: { domain: "answer.domain", state: "answer.state" },
        },
        responses: { 200: one },
        errors: [400, 404, 409, 429],
      },
      async ({ caller, params: { deployment_id, domain } }) =>
        json(200, wire(await service.check(caller, deployment_id, domain))),
    ),
    route(
      {
        method: "delete",
        path: "/v2/deployments/{deployment_id}/domains/{domain}",
        operationId: "remove_deployment_domain",
        summary: "Remove a domain from a deployment",
        description: "Nothing is served there from then on.",
        ...{ tag, access: write, params: oneParams },
        audit: {
          action: "deployment.domain_removed",
          target: { kind: "deployment", id: "params.deployment_id" },
          details: { domain: "params.domain" },
        },
        responses: { 204: { description: "Removed" } },
        errors: [404],
      },
      async ({ caller, params: { deployment_id, domain } }) => {
        await service.remove(caller, deployment_id, domain);
        return noContent();
      },
    ),
  ];
}

function toDomainWire(row: Domain, urlOf: UrlOfDomain): z.input<typeof deploymentDomain> {
  const isVerified = row.verified_at !== null;
  return {
    domain: row.domain,
    state: isVerified ? "verified" : "pending",
    url: urlOf(row.domain),
    record: { type: "TXT", ...proofOf(row) },
    problem: row.problem && { code: row.problem, message: problemText(row.problem, row) },
    checked_at: row.checked_at?.toISOString() ?? null,
    verified_at: row.verified_at?.toISOString() ?? null,
    missing_since: row.missing_since?.toISOString() ?? null,
    expires_at: isVerified ? null : row.expires_at.toISOString(),
    created_at: row.created_at.toISOString(),
  };
}
