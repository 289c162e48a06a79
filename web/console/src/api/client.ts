import { consoleHeaders, session } from "../session.ts";
import { deploymentToken, forgetDeploymentToken } from "./deployment-tokens.ts";
import { reachability } from "./reachability.ts";

/** What the server refused, in its own words, and which field it was about. */
export class ApiError extends Error {
  readonly status: number;
  /** Message per field of the request body, by its dotted path: `source_config.repo_url`. */
  readonly fields: Readonly<Record<string, string>>;
  /** What kind of refusal it is, for pages that do more than show its words. */
  readonly code: string | null;
  /** The same per field, where the server names it. */
  readonly reasons: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    refusal: { code?: string | null; issues?: readonly FieldIssue[] } = {},
  ) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = refusal.code ?? null;
    const issues = refusal.issues ?? [];
    this.fields = Object.fromEntries(issues.map(({ path, words }) => [path, words]));
    this.reasons = Object.fromEntries(
      issues.flatMap(({ path, reason }) => (reason === undefined ? [] : [[path, reason]])),
    );
  }
}

type FieldIssue = { path: string; words: string; reason?: string | undefined };

type Options = {
  signal?: AbortSignal | undefined;
  headers?: Record<string, string>;
  /** The deployment whose server this goes to, behind the gateway; left out: the platform itself. */
  deploymentId?: string | null | undefined;
};

/** Every request to the platform is marked as the console's and names its workspace; a 401 to any of them signs out. */
export async function request(
  method: string,
  path: string,
  body?: unknown,
  options: Options = {},
): Promise<Response> {
  if (options.deploymentId) return requestDeployment(options.deploymentId, method, path, body, options);
  const { current } = session;
  const headers = new Headers({ ...options.headers, ...consoleHeaders });
  if (current?.workspaceId && !headers.has("x-tenant-id")) headers.set("x-tenant-id", current.workspaceId);
  const response = await send(path, initOf(method, headers, body, options.signal));
  if (response.ok) return response;
  const error = await readError(response);
  if (error.status === 401 && current && session.current?.id === current.id) session.ended();
  throw error;
}

/** With a token for that deployment alone, and without the cookie: it runs somebody else's code. */
async function requestDeployment(
  deploymentId: string,
  method: string,
  path: string,
  body: unknown,
  options: Options,
): Promise<Response> {
  for (let tries = 1; ; tries++) {
    const token = await deploymentToken(deploymentId, (tokens) => json("POST", tokens));
    const headers = new Headers({ ...options.headers, "x-api-key": token });
    const init = initOf(method, headers, body, options.signal);
    const response = await send(path, { ...init, credentials: "omit" });
    if (response.ok) return response;
    // It may have ended with a session that was replaced. A project with its own sign-in may also want another.
    if (response.status === 401) forgetDeploymentToken(deploymentId);
    if (response.status !== 401 || tries === 2) throw await readError(response);
  }
}

function initOf(
  method: string,
  headers: Headers,
  body: unknown,
  signal: AbortSignal | undefined,
): RequestInit {
  if (body !== undefined) headers.set("content-type", "application/json");
  return {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  };
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
      "The server does not respond. Check that it runs; this page continues by itself when it is back.",
    );
  }
}

type Issue = { loc?: (string | number)[]; msg?: string; ctx?: { reason?: unknown } };

async function readError(response: Response): Promise<ApiError> {
  const code = response.headers.get("x-error-code");
  const text = await response.text();
  let detail: unknown;
  try {
    detail = (JSON.parse(text) as { detail?: unknown }).detail;
  } catch {
    // Not ours: a proxy's page, which would mean nothing to a person here.
    detail = undefined;
  }
  if (typeof detail === "string") return new ApiError(response.status, detail, { code });
  if (Array.isArray(detail)) {
    const issues = (detail as Issue[]).map(readIssue);
    const lines = issues.map(({ path, words }) => `${path || "The request"}: ${words}`);
    return new ApiError(response.status, lines.join("\n"), { code, issues });
  }
  return new ApiError(response.status, `The server responded with status ${response.status}. Try again.`, {
    code,
  });
}

function readIssue({ loc = [], msg = "is not valid", ctx }: Issue): FieldIssue {
  const reason = typeof ctx?.reason === "string" ? ctx.reason : undefined;
  return { path: loc.slice(1).join("."), words: msg, reason };
}

async function json<T>(method: string, path: string, body?: unknown, options?: Options): Promise<T> {
  const response = await request(method, path, body, options);
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

export type Api = ReturnType<typeof apiFor>;

function apiFor(deploymentId: string | null) {
  const to = (options?: Options): Options => ({ ...options, deploymentId });
  return {
    get: <T>(path: string, options?: Options) => json<T>("GET", path, undefined, to(options)),
    post: <T>(path: string, body?: unknown, options?: Options) => json<T>("POST", path, body, to(options)),
    put: <T>(path: string, body?: unknown, options?: Options) => json<T>("PUT", path, body, to(options)),
    patch: <T>(path: string, body?: unknown, options?: Options) => json<T>("PATCH", path, body, to(options)),
    delete: <T>(path: string, body?: unknown, options?: Options) =>
      json<T>("DELETE", path, body, to(options)),
  };
}

export const api: Api = apiFor(null);

/** The same for the server of a deployment. */
export const deploymentApi = (deploymentId: string): Api => apiFor(deploymentId);

/** `?a=1&b=2` of what is there; nothing of what is undefined, null or empty. */
export function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const given = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  if (given.length === 0) return "";
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}
