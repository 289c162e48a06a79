import { ApiError, api } from "../api/client.ts";
import type { Answers } from "../api/wire.ts";
import { session, type Workspace } from "../session.ts";

const path = "/v2/workspaces?limit=100";

/** The workspaces one may enter. */
export async function readWorkspaces(): Promise<Workspace[]> {
  try {
    return (await api.get<Answers["list_workspaces"]>(path)).resources;
  } catch (error) {
    // The one we were in is gone or closed to us: the server then chooses one.
    if (!(error instanceof ApiError) || error.status !== 403 || !session.current?.workspaceId) throw error;
    session.chooseWorkspace("");
    return (await api.get<Answers["list_workspaces"]>(path)).resources;
  }
}
