import { openAsBlob } from "node:fs";
import { z } from "zod";
import * as answers from "./answers.ts";
import { explainAnswer, explainNoAnswer, notTreadle, wrongShape } from "./api-error.ts";
import type { Connection } from "./connection.ts";
import { readEvents, type ServerSentEvent } from "./server-sent-events.ts";

export type Query = Record<string, string | number | boolean | undefined>;
export type CallOptions = {
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

export type ApiClient = ReturnType<typeof createApiClient>;

/** The server's HTTP API with checked answers. Every failure is an AppError whose message names what to do. */
export function createApiClient(connection: Connection, options: { version: string }) {
  const headers: Record<string, string> = {
    accept: "application/json",
    "user-agent": `treadle/${options.version}`,
    ...(connection.apiKey === null ? {} : { "x-api-key": connection.apiKey }),
    ...(connection.workspaceId === null ? {} : { "x-tenant-id": connection.workspaceId }),
  };

  async function send(method: string, path: string, call: CallOptions = {}): Promise<Response> {
    const url = new URL(`${connection.url}${path}`);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const hasBody = call.body !== undefined;
    const response = await fetch(url, {
      method,
      // A key must not be sent along a redirect.
      redirect: "manual",
      headers: { ...headers, ...(hasBody ? { "content-type": "application/json" } : {}), ...call.headers },
      ...(hasBody ? { body: JSON.stringify(call.body) } : {}),
      ...(call.signal ? { signal: call.signal } : {}),
    }).catch((error: unknown) => {
      if (call.signal?.aborted) throw error;
      throw explainNoAnswer(connection, error);
    });
    if (response.ok) return response;
    throw explainAnswer(connection, response.status, parseJson(await response.text()));
  }

  async function call<Schema extends z.ZodType>(
    schema: Schema,
    method: string,
    path: string,
    given: CallOptions = {},
  ): Promise<z.output<Schema>> {
    const response = await send(method, path, given);
    const body = parseJson(await response.text());
    if (body === undefined) throw notTreadle(connection, response.status);
    const parsed = schema.safeParse(body);
    if (parsed.success) return parsed.data;
    throw wrongShape(connection, parsed.error, { own: options.version, server: await serverVersion() });
  }

  async function serverVersion(): Promise<string | null> {
    // Only to explain a failure that is reported anyway: without it the version stays unknown.
    const response = await fetch(`${connection.url}/info`, { redirect: "manual" }).catch(() => null);
    const parsed = answers.serverInfo.safeParse(response ? parseJson(await response.text()) : undefined);
    return parsed.success ? parsed.data.version : null;
  }

  return {
    call,
    serverVersion,
    /** For answers without a body. */
    async run(method: string, path: string, given: CallOptions = {}): Promise<void> {
      await (await send(method, path, given)).body?.cancel();
    },
    /** Every item of a list that comes in pages, newest first, up to `most`. */
    async list<Item extends z.ZodType>(item: Item, path: string, query: Query = {}, most = 1_000) {
      const found: z.output<Item>[] = [];
      const schema = z.looseObject({ resources: z.array(item) });
      while (found.length < most) {
        const limit = Math.min(100, most - found.length);
        const page = await call(schema, "GET", path, { query: { ...query, limit, offset: found.length } });
        found.push(...(page.resources as z.output<Item>[]));
        if (page.resources.length < limit) break;
      }
      return found;
    },
    async *events(method: string, path: string, given: CallOptions = {}): AsyncGenerator<ServerSentEvent> {
      const response = await send(method, path, {
        ...given,
        headers: { ...given.headers, accept: "text/event-stream" },
      });
      if (response.body) yield* readEvents(response.body);
    },
    /** Puts a file to the address the server gave; the address itself is the credential. */
    async putFile(address: string, file: string): Promise<void> {
      const body = await openAsBlob(file);
      const target = { ...connection, url: new URL(address).origin, urlFrom: "the server's answer" };
      const response = await fetch(address, {
        method: "PUT",
        body,
        headers: { "content-type": "application/gzip" },
      }).catch((error: unknown) => {
        throw explainNoAnswer(target, error);
      });
      const text = await response.text();
      if (!response.ok) throw explainAnswer(target, response.status, parseJson(text));
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Undefined means "not JSON"; the caller decides what to do.
    return undefined;
  }
}
