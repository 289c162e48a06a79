import { session } from "../session.ts";
import { reachability } from "./reachability.ts";

/** What the server refused, in its own words, and which field it was about. */
export class ApiError extends Error {
  readonly status: number;
  /** Message per field of the request body, by its dotted path: `source_config.repo_url`. */
  readonly fields: Readonly<Record<string, string>>;
  /** What kind of refusal it is, for pages that do more than show its words. */
  readonly code: string | null;

  constructor(
    status: number,
    message: string,
    fields: Record<string, string> = {},
    code: string | null = null,
  ) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.fields = fields;
    this.code = code;
  }
}

type Options = { signal?: AbortSignal | undefined; headers?: Record<string, string> };

/** Every request carries the key and the workspace; a 401 signs out, whoever asked. */
export async function request(
  method: string,
  path: string,
  body?: unknown,
  options: Options = {},
): Promise<Response> {
  const { current } = session;
  const headers = new Headers(options.headers);
  if (current) {
    headers.set("x-api-key", current.apiKey);
    if (current.workspaceId) headers.set("x-tenant-id", current.workspaceId);
  }
  if (body !== undefined) headers.set("content-type", "application/json");
  const response = await send(path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(options.signal ? { signal: options.signal } : {}),
  });
  if (response.ok) return response;
  const error = await readError(response);
  if (error.status === 401 && current && session.current?.apiKey === current.apiKey) session.signOut();
  throw error;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(path, init);
    reachability.report(true);
    return response;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    reachability.report(false);
    throw new ApiError(
      0,
      "The server does not answer. Check that it runs; this page goes on by itself when it is back.",
    );
  }
}

type Issue = { loc?: (string | number)[]; msg?: string };

async function readError(response: Response): Promise<ApiError> {
  const code = response.headers.get("x-error-code");
  const text = await response.text();
  let detail: unknown;
  try {
    detail = (JSON.parse(text) as { detail?: unknown }).detail;
  } catch {
    // Not ours: a proxy's page, which would say nothing to a person here.
    detail = undefined;
  }
  if (typeof detail === "string") return new ApiError(response.status, detail, {}, code);
  if (Array.isArray(detail)) {
    const issues = detail as Issue[];
    const fields = Object.fromEntries(
      issues.map(({ loc = [], msg = "is not valid" }) => [loc.slice(1).join("."), msg]),
    );
    const lines = issues.map(
      ({ loc = [], msg = "is not valid" }) => `${loc.slice(1).join(".") || "The request"}: ${msg}`,
    );
    return new ApiError(response.status, lines.join("\n"), fields, code);
  }
  return new ApiError(
    response.status,
    `The server answered with status ${response.status}. Try again.`,
    {},
    code,
  );
}

async function json<T>(method: string, path: string, body?: unknown, options?: Options): Promise<T> {
  const response = await request(method, path, body, options);
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

export const api = {
  get: <T>(path: string, options?: Options) => json<T>("GET", path, undefined, options),
  post: <T>(path: string, body?: unknown, options?: Options) => json<T>("POST", path, body, options),
  put: <T>(path: string, body?: unknown, options?: Options) => json<T>("PUT", path, body, options),
  patch: <T>(path: string, body?: unknown, options?: Options) => json<T>("PATCH", path, body, options),
  delete: <T>(path: string, body?: unknown, options?: Options) => json<T>("DELETE", path, body, options),
};

/** `?a=1&b=2` of what is there; nothing of what is undefined, null or empty. */
export function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const given = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  if (given.length === 0) return "";
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}
