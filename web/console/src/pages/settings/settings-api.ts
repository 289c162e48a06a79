import { useInfiniteQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { Role } from "../../session.ts";

export type ApiKey = {
  id: string;
  name: string;
  prefix: string;
  role: Role;
  user_id: string;
  workspace_id: string | null;
  created_at: string;
  last_used_at: string | null;
  expires_at: string | null;
};
export type CreatedApiKey = ApiKey & { key: string };

export type Member = { user_id: string; email: string; name: string; role: Role; created_at: string };

type Page<Resource> = { resources: Resource[]; offset: number };
const pageSize = 50;

function usePages<Resource>(name: string, path: string) {
  return useInfiniteQuery({
    queryKey: ["settings", name],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      api.get<Page<Resource>>(`${path}?limit=${pageSize}&offset=${pageParam}`, { signal }),
    getNextPageParam: (last) => (last.resources.length < pageSize ? undefined : last.offset),
  });
}

export const useApiKeys = () => usePages<ApiKey>("keys", "/v2/api-keys");
export const useMembers = () => usePages<Member>("members", "/v2/members");

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
