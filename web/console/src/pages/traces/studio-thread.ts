import { useQuery } from "@tanstack/react-query";
import { ApiError, api } from "../../api/client.ts";
import type { Answers } from "../../api/wire.ts";

type Deployments = Answers["list_deployments"];

/** Where the studio shows a thread; undefined where no agent server here has it. */
export function useStudioThread(projectId: string, threadId: string): string | undefined {
  const { data } = useQuery({
    queryKey: ["studio-thread", projectId, threadId],
    queryFn: ({ signal }) => findServer(projectId, threadId, signal),
    staleTime: 60_000,
  });
  return data ? `/agents/${data}/threads/${encodeURIComponent(threadId)}` : undefined;
}

/** The deployment whose runs are traced in a project; null where it is no deployment's. */
export function useDeploymentOf(projectId: string) {
  return useQuery({
    queryKey: ["deployment-of-project", projectId],
    queryFn: ({ signal }) => findDeployment(projectId, signal),
    staleTime: 60_000,
  }).data;
}

async function findDeployment(projectId: string, signal: AbortSignal) {
  const { resources } = await api.get<Deployments>("/v2/deployments?limit=100", { signal });
  return resources.find(({ tracer_session_id }) => tracer_session_id === projectId) ?? null;
}

async function findServer(projectId: string, threadId: string, signal: AbortSignal): Promise<string | null> {
  const deployment = await findDeployment(projectId, signal);
  if (deployment) return deployment.id;
  try {
    await api.get(`/threads/${encodeURIComponent(threadId)}`, { signal });
    return "built-in";
  } catch (error) {
    // A thread id of another program: there is nothing to open.
    if (error instanceof ApiError && (error.status === 404 || error.status === 422)) return null;
    throw error;
  }
}

export function conversationHref(projectId: string, threadId: string): string {
  return `/traces/${projectId}/t/${encodeURIComponent(threadId)}`;
}
