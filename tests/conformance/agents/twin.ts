import { Client, type StreamMode } from "@langchain/langgraph-sdk";

/** One of the two servers, with the unmodified client on it. */
export type Twin = { url: string; client: Client };

/** What a client does, and everything that it receives: the same for both servers. */
export type Journey = (twin: Twin) => Promise<unknown>;
export type Journeys = Record<string, Journey>;

export type Told = { event: string; data: unknown };

export const said = (content: string, id?: string) => ({
  messages: [{ role: "user", content, ...(id ? { id } : {}) }],
});

export const clientOf = (apiUrl: string) =>
  new Client({ apiUrl, apiKey: null, callerOptions: { maxRetries: 0 } });

export type RunOptions = {
  threadId?: string;
  input?: unknown;
  streamMode?: StreamMode | StreamMode[];
  streamSubgraphs?: boolean;
  [option: string]: unknown;
};

/** Every event of a run, in order. */
export async function streamed(
  { client }: Twin,
  graphId: string,
  { threadId, ...options }: RunOptions,
): Promise<Told[]> {
  const run = client.runs.stream(threadId as never, graphId, options as never) as AsyncIterable<Told>;
  return told(run);
}

export async function told(parts: AsyncIterable<Told>): Promise<Told[]> {
  const all: Told[] = [];
  for await (const { event, data } of parts) all.push({ event, data });
  return all;
}

export async function newThread({ client }: Twin): Promise<string> {
  return (await client.threads.create()).thread_id;
}

export function waited({ client }: Twin, threadId: string, graphId: string, options: object) {
  return client.runs.wait(threadId, graphId, options as never);
}

export async function refused(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error("Nobody refused it.");
}
