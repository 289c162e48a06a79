import { useInfiniteQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { Answers, ApiKey } from "../../api/wire.ts";
import type { Role } from "../../session.ts";

export const scopes = [
  {
    value: "read",
    label: "read",
    hint: "Read everything viewers can see. No secrets, no accounts.",
    adminOnly: false,
  },
  {
    value: "runs",
    label: "runs",
    hint: "Start and cancel runs; threads, assistants, store and crons.",
    adminOnly: false,
  },
  {
    value: "traces:write",
    label: "traces:write",
    hint: "Send traces, feedback and datasets.",
    adminOnly: false,
  },
  {
    value: "deploy",
    label: "deploy",
    hint: "Deployments, revisions and uploads, with their logs.",
    adminOnly: false,
  },
  { value: "export", label: "export", hint: "Bulk exports and their destinations.", adminOnly: true },
  { value: "accounts", label: "accounts", hint: "Use the accounts you have connected.", adminOnly: false },
  {
    value: "listener",
    label: "listener",
    hint: "Act for a listener: take its deployments, with their secrets, and report.",
    adminOnly: false,
  },
  { value: "admin", label: "admin", hint: "Everything its role allows.", adminOnly: true },
] as const satisfies readonly { value: NonNullable<ApiKey["scopes"]>[number]; [words: string]: unknown }[];
export type Scope = (typeof scopes)[number]["value"];
/** A service is no person: it has no accounts, and makes neither keys nor members. */
export const isForServices = (scope: Scope) => scope !== "accounts" && scope !== "admin";

export type { ApiKey, CreatedApiKey, Member } from "../../api/wire.ts";

const pageSize = 50;

function usePages<Page extends { resources: unknown[]; offset: number }>(name: string, path: string) {
  return useInfiniteQuery({
    queryKey: ["settings", name],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      api.get<Page>(`${path}?limit=${pageSize}&offset=${pageParam}`, { signal }),
    getNextPageParam: (last) => (last.resources.length < pageSize ? undefined : last.offset),
  });
}

export const useApiKeys = () => usePages<Answers["list_api_keys"]>("keys", "/v2/api-keys");
export const useMembers = () => usePages<Answers["list_members"]>("members", "/v2/members");

export const roles = [
  { value: "viewer", label: "Viewer: may look" },
  { value: "editor", label: "Editor: may deploy and change" },
  { value: "admin", label: "Admin: may do everything" },
] as const;

export const roleNames: Record<Role, string> = { viewer: "Viewer", editor: "Editor", admin: "Admin" };

/** The roles a key of this role may give away. */
export function rolesUpTo(role: Role) {
  return roles.slice(0, roles.findIndex(({ value }) => value === role) + 1);
}
