import type { Route } from "../../platform/http/route.ts";
import type { ProjectFile } from "../graphs/project-config.ts";

type HttpFlags = NonNullable<ProjectFile["http"]>;

/** Without the groups of endpoints the project file switches off. */
export function servedRoutes(routes: readonly Route[], flags: HttpFlags | null | undefined): Route[] {
  if (!flags) return [...routes];
  return routes.filter(({ spec: { path } }) => {
    const group = groupOf(path);
    return group === undefined || flags[group] !== true;
  });
}

type Group = keyof Pick<
  HttpFlags,
  | "disable_assistants"
  | "disable_threads"
  | "disable_runs"
  | "disable_store"
  | "disable_mcp"
  | "disable_a2a"
  | "disable_meta"
  | "disable_ui"
>;

const groups: [RegExp, Group][] = [
  [/^(\/threads\/\{thread_id\})?\/runs(\/|$)/, "disable_runs"],
  [/^\/threads(\/|$)/, "disable_threads"],
  [/^\/assistants(\/|$)/, "disable_assistants"],
  [/^\/store(\/|$)/, "disable_store"],
  [/^\/mcp(\/|$)/, "disable_mcp"],
  [/^(\/a2a(\/|$)|\/\.well-known\/agent-card)/, "disable_a2a"],
  // Health checks must keep working, even when other routes are hidden.
  [/^\/(info|metrics|docs|openapi\.json)(\/|$)/, "disable_meta"],
  [/^\/ui(\/|$)/, "disable_ui"],
];

function groupOf(path: string): Group | undefined {
  return groups.find(([pattern]) => pattern.test(path))?.[1];
}
