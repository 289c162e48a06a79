import { type Route, type RouteRequest, type RouteSpec, route } from "../../platform/http/route.ts";
import type { RouteRule } from "./route-rules.ts";

/** The contract of a route of the agent server, with what the project's own authorization is asked before it. */
export type AgentRouteSpec = RouteSpec & {
  /** `asksNothing` for a route that touches none of the guarded resources, or asks where it finds out what it touches. */
  guard: RouteRule | null;
};

export type AgentRoute = Route & { spec: AgentRouteSpec };

/** `route` for the agent server: one without a guard does not compile. */
export function agentRoute<const S extends AgentRouteSpec>(
  spec: S,
  handle: (request: RouteRequest<S>) => Response | Promise<Response>,
): AgentRoute {
  return { ...route(spec, handle), spec };
}
