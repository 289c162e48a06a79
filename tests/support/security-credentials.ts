import { type Scope, scopes } from "../../src/platform/http/access/scope.ts";
import { callApp } from "./workspaces-app.ts";

export type AppFetch = (request: Request) => Promise<Response>;

/** An admin of a first workspace whose key opens every workspace, as the bootstrap gives it. */
export type SecurityAdmin = { workspaceId: string; apiKey: string };

export type SecurityCredentials = {
  first: {
    workspaceId: string;
    admin: string;
    editor: string;
    viewer: string;
    revoked: string;
    /** An admin's keys of one scope each. */
    scoped: Record<Scope, string>;
    /** A service's key of one tracing project. */
    tracing: string;
  };
  second: { workspaceId: string; admin: string; keyId: string; userId: string };
};

/** Two workspaces and a key of every kind, made through the API itself. */
export async function createSecurityCredentials(
  fetch: AppFetch,
  by: SecurityAdmin,
): Promise<SecurityCredentials> {
  const post = async <T>(path: string, tenant: string, body: unknown): Promise<T> => {
    const answer = await callApp(fetch, "POST", path, { key: by.apiKey, tenant, body });
    if (answer.status !== 201) {
      throw new Error(`POST ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    }
    return answer.body as T;
  };
  const createKey = (tenant: string, role: string) =>
    post<{ id: string; key: string }>("/v2/api-keys", tenant, { name: `security ${role}`, role });

  const scoped: Partial<Record<Scope, string>> = {};
  for (const scope of scopes) {
    const made = { name: `security ${scope}`, role: "admin", scopes: [scope] };
    scoped[scope] = (await post<{ key: string }>("/v2/api-keys", by.workspaceId, made)).key;
  }
  const tracing = await post<{ key: string }>("/v2/api-keys", by.workspaceId, {
    name: "security tracing",
    service: true,
    // The most it can be, so that nothing but its scope and project stands in the way.
    role: "admin",
    scopes: ["traces:write"],
    tracing_project: "security",
  });
  const second = await post<{ id: string }>("/v2/workspaces", by.workspaceId, { name: "Security, second" });
  const member = await post<{ user_id: string }>("/v2/members", second.id, { email: "second@example.com" });
  const revoked = await createKey(by.workspaceId, "admin");
  const deleted = await callApp(fetch, "DELETE", `/v2/api-keys/${revoked.id}`, {
    key: by.apiKey,
    tenant: by.workspaceId,
  });
  if (deleted.status !== 204) throw new Error(`revoking a key answered ${deleted.status}`);
  const secondAdmin = await createKey(second.id, "admin");
  return {
    first: {
      workspaceId: by.workspaceId,
      admin: (await createKey(by.workspaceId, "admin")).key,
      editor: (await createKey(by.workspaceId, "editor")).key,
      viewer: (await createKey(by.workspaceId, "viewer")).key,
      revoked: revoked.key,
      scoped: scoped as Record<Scope, string>,
      tracing: tracing.key,
    },
    second: {
      workspaceId: second.id,
      admin: secondAdmin.key,
      keyId: secondAdmin.id,
      userId: member.user_id,
    },
  };
}
