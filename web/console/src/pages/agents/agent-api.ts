import { keepPreviousData, queryOptions, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type Api, ApiError, api, deploymentApi, query } from "../../api/client.ts";
import type * as wire from "../../api/wire.ts";
import { isStudio } from "../../studio-mode.ts";
import type { Deployment } from "../deployments/deployment-api.ts";

/** An agent server: the built-in one at the root of the host, or that of a deployment behind the gateway. */
export type AgentServer = { id: string; name: string; base: string; deployment: Deployment | null };

export type Assistant = wire.Assistant;
export type AssistantVersion = wire.AssistantVersion;
export type Run = wire.Run;

/** A graph's state can be any value; here it is read as an object. */
type Values = Record<string, unknown>;
export type Thread = Omit<wire.Thread, "values"> & { values: Values | null };
export type ThreadStatus = Thread["status"];

export type Interrupt = { id?: string; value: unknown };
export type Task = Omit<wire.ThreadState["tasks"][number], "interrupts"> & {
  /** A sentence, or what an exception was made of. */
  error?: unknown;
  interrupts: Interrupt[];
  /** What the node returned, once it has. */
  result?: unknown;
};
export type Checkpoint = { thread_id: string; checkpoint_ns: string; checkpoint_id: string };
export type ThreadState = Omit<wire.ThreadState, "values" | "tasks" | "checkpoint" | "parent_checkpoint"> & {
  values: Values;
  tasks: Task[];
  checkpoint: Checkpoint;
  parent_checkpoint: Checkpoint | null;
};

export const builtIn: AgentServer = { id: "built-in", name: "Built-in agents", base: "", deployment: null };

/** The one server the studio is beside. */
export const localServer: AgentServer = { id: "local", name: "This project", base: "", deployment: null };

/** Through the gateway of this host, regardless of the deployment's public name. */
export function serverOf(deployment: Deployment): AgentServer {
  const name = deployment.display_name ?? deployment.name;
  return { id: deployment.id, name, base: new URL(deployment.url, location.href).pathname, deployment };
}

/** A deployment is asked with a token of its own; the built-in server is the platform. */
export function apiOf({ deployment }: AgentServer): Api {
  return deployment === null ? api : deploymentApi(deployment.id);
}

/** Hints reach the console for the built-in server; a deployment's own database is asked now and then. */
export function refetchEvery(server: AgentServer): number | false {
  return server.id === builtIn.id ? false : 4_000;
}

/** The way back to all servers; beside one server there are no others. */
export const agentsCrumb = isStudio ? [] : [{ label: "Agents", href: "/agents" }];

const pageSize = 25;

export const assistantPath = (server: AgentServer, assistantId: string) =>
  `${server.base}/assistants/${encodeURIComponent(assistantId)}`;

/** With its subgraphs. It changes with the server's code alone. */
export function useGraph(server: AgentServer, assistantId: string) {
  return useQuery({
    queryKey: ["assistant-graphs", server.id, assistantId],
    queryFn: ({ signal }) =>
      apiOf(server).get<wire.Answers["getAssistantGraph"]>(
        `${assistantPath(server, assistantId)}/graph?xray=true`,
        { signal },
      ),
    staleTime: 60_000,
  });
}

export function useServer(id: string) {
  return useQuery({
    queryKey: ["deployments", id, "agent-server"],
    queryFn: async ({ signal }) =>
      isStudio
        ? localServer
        : id === builtIn.id
          ? builtIn
          : serverOf(await api.get<Deployment>(`/v2/deployments/${encodeURIComponent(id)}`, { signal })),
  });
}

export function useAssistants(server: AgentServer) {
  return useQuery({
    queryKey: ["threads", server.id, "assistants"],
    queryFn: ({ signal }) =>
      apiOf(server).post<Assistant[]>(`${server.base}/assistants/search`, { limit: 200 }, { signal }),
  });
}

export function useAssistant(server: AgentServer, assistantId: string) {
  return useQuery({
    queryKey: ["threads", server.id, "assistants", assistantId],
    queryFn: ({ signal }) => apiOf(server).get<Assistant>(assistantPath(server, assistantId), { signal }),
  });
}

/** The JSON Schemas of what an assistant's graph takes. */
export function useSchemas(server: AgentServer, assistantId: string | undefined) {
  return useQuery({
    enabled: assistantId !== undefined,
    queryKey: ["assistant-schemas", server.id, assistantId],
    queryFn: ({ signal }) =>
      apiOf(server).get<wire.Answers["getAssistantSchemas"]>(
        `${assistantPath(server, assistantId ?? "")}/schemas`,
        { signal },
      ),
    staleTime: 60_000,
  });
}

export type ThreadFilter = { status: string; search: string; metadata: Record<string, unknown> };

const looksLikeId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Those that hold the words, newest first; an id finds its thread. What is shown stays while more is typed. */
export function useThreads(server: AgentServer, { status, search, metadata }: ThreadFilter) {
  const words = search.trim();
  return useInfiniteQuery({
    queryKey: ["threads", server.id, "list", status, words, JSON.stringify(metadata)],
    initialPageParam: 0,
    refetchInterval: refetchEvery(server),
    placeholderData: keepPreviousData,
    queryFn: async ({ pageParam, signal }) => {
      if (looksLikeId.test(words)) return findThread(server, words, signal);
      const body = {
        limit: pageSize,
        offset: pageParam,
        sort_by: "updated_at",
        sort_order: "desc",
        ...(status === "" ? {} : { status }),
        ...(words === "" ? {} : { query: words }),
        ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
      };
      return apiOf(server).post<Thread[]>(`${server.base}/threads/search`, body, { signal });
    },
    getNextPageParam: (last, pages) => (last.length < pageSize ? undefined : pages.length * pageSize),
  });
}

async function findThread(server: AgentServer, id: string, signal: AbortSignal): Promise<Thread[]> {
  try {
    return [await apiOf(server).get<Thread>(threadPath(server, id), { signal })];
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 422)) return [];
    throw error;
  }
}

export const threadPath = (server: AgentServer, threadId: string) =>
  `${server.base}/threads/${encodeURIComponent(threadId)}`;

export const threadHref = (server: AgentServer, threadId: string) =>
  `/agents/${server.id}/threads/${encodeURIComponent(threadId)}`;

/** The same thread in the chat. */
export const chatThreadHref = (serverId: string, threadId: string) =>
  `/chat#${serverId === builtIn.id ? "" : `/s/${serverId}`}/t/${encodeURIComponent(threadId)}`;

/** Two threads beside each other; both begin with this assistant. */
export function compareHref(server: AgentServer, left: string, right: string, assistantId?: string): string {
  const both: Record<string, string> = assistantId
    ? { left_assistant: assistantId, right_assistant: assistantId }
    : {};
  return `/agents/${server.id}/compare?${new URLSearchParams({ left, right, ...both })}`;
}

/** All data of one thread is requested again together: these keys share their beginning. */
export const threadKey = (server: AgentServer, threadId: string) => ["threads", server.id, threadId] as const;

export const threadQuery = (server: AgentServer, threadId: string) =>
  queryOptions({
    queryKey: [...threadKey(server, threadId), "thread"],
    queryFn: ({ signal }) => apiOf(server).get<Thread>(threadPath(server, threadId), { signal }),
  });

export function useThread(server: AgentServer, threadId: string) {
  return useQuery(threadQuery(server, threadId));
}

export function useThreadState(
  server: AgentServer,
  threadId: string,
  checkpointId: string | null,
  { enabled = true }: { enabled?: boolean } = {},
) {
  return useQuery({
    enabled,
    queryKey: [...threadKey(server, threadId), "state", checkpointId],
    queryFn: ({ signal }) =>
      apiOf(server).get<ThreadState>(
        `${threadPath(server, threadId)}/state${checkpointId ? `/${encodeURIComponent(checkpointId)}` : ""}`,
        { signal },
      ),
  });
}

const historySize = 20;

export function useHistory(server: AgentServer, threadId: string) {
  return useInfiniteQuery({
    queryKey: [...threadKey(server, threadId), "history"],
    initialPageParam: null as Checkpoint | null,
    queryFn: ({ pageParam, signal }) =>
      apiOf(server).post<ThreadState[]>(
        `${threadPath(server, threadId)}/history`,
        { limit: historySize, ...(pageParam ? { before: pageParam } : {}) },
        { signal },
      ),
    getNextPageParam: (last) => (last.length < historySize ? undefined : last.at(-1)?.checkpoint),
  });
}

const lookAgainMs = 700;

/** The newest checkpoints, again and again: for a run whose own events do not name its nodes. */
export function useNewestStates(server: AgentServer, threadId: string, { enabled }: { enabled: boolean }) {
  return useQuery({
    enabled,
    queryKey: [...threadKey(server, threadId), "newest-states"],
    refetchInterval: lookAgainMs,
    staleTime: 0,
    queryFn: ({ signal }) =>
      apiOf(server).post<ThreadState[]>(
        `${threadPath(server, threadId)}/history`,
        { limit: historySize },
        { signal },
      ),
  });
}

export function useRuns(server: AgentServer, threadId: string) {
  return useQuery({
    queryKey: [...threadKey(server, threadId), "runs"],
    queryFn: ({ signal }) =>
      apiOf(server).get<Run[]>(`${threadPath(server, threadId)}/runs${query({ limit: 50 })}`, { signal }),
  });
}
