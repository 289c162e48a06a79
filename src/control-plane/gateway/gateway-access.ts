import { AppError } from "../../platform/errors.ts";
import { type Authorize, checkDemand } from "../../platform/http/access.ts";
import type { Caller } from "../../platform/http/caller.ts";
import type { Target } from "./target.ts";
import type { Targets } from "./targets.ts";

/** Searches are reads although they are posted. */
const reading = /\/(search|count|history|batch\/get|list)$/;

/**
 * A project with its own authentication decides for itself. For the others the platform's keys hold, as they do for
 * the built-in agent server.
 */
export async function admit(
  input: {
    slug: string;
    method: string;
    path: string;
    headers: () => Headers;
    urlHost: string;
    peer?: string | undefined;
  },
  targets: Targets,
  authorize: Authorize,
): Promise<Target> {
  const target = await targets.find(input.slug);
  if (target?.usesOwnAuth) return target;
  // Asked before it is said whether there is such a deployment.
  const caller = await authorize(
    { kind: "agent", role: "viewer", scope: ["read", "runs"], gateway: true },
    input.headers(),
    input.urlHost,
    undefined,
    input.peer,
  );
  if (!target || !mayEnter(caller, target)) throw notFound(input.slug);
  const isRead = input.method === "GET" || input.method === "HEAD" || reading.test(input.path);
  if (!isRead) checkDemand(caller!, { role: "editor", scope: "runs" });
  return target;
}

/** The keyless caller of this machine may use every workspace's deployments: the machine is theirs. */
function mayEnter(caller: Caller | null, target: Target): boolean {
  // A token for one deployment opens that one.
  if (caller?.deploymentId !== undefined && caller.deploymentId !== target.deploymentId) return false;
  return caller !== null && (caller.via === "loopback" || caller.workspaceId === target.workspaceId);
}

export function notFound(slug: string): AppError {
  return new AppError({
    code: "gateway.unknown",
    kind: "not_found",
    message: `There is no deployment at /d/${slug.slice(0, 100)}.`,
  });
}

export function notServing(target: Target): AppError {
  return new AppError({
    code: "gateway.not_serving",
    kind: "unavailable",
    message: target.reason,
    headers: { "retry-after": "2" },
  });
}
