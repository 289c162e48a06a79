import { ApiError, api } from "../api/client.ts";
import { session, type Workspace } from "../session.ts";

type Page = { resources: Workspace[] };

const path = "/v2/workspaces?limit=100";

/** The workspaces the key opens. A key for several must name one, and is told which when it does not. */
export async function readWorkspaces(): Promise<Workspace[]> {
  try {
    return (await api.get<Page>(path)).resources;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    const named = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(error.message)?.[0];
    const gone = session.current?.workspaceId ?? null;
    // The one we were in is gone or closed to us: ask without one, and hear which there are.
    if (gone !== null && named === gone) {
      session.chooseWorkspace("");
      return readWorkspaces();
    }
    if (named === undefined) throw error;
    return (await api.get<Page>(path, { headers: { "x-tenant-id": named } })).resources;
  }
}
