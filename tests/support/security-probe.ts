import type { Route } from "../../src/platform/http/route.ts";
import type { AppFetch } from "./security-credentials.ts";

export type Probe = {
  headers: Record<string, string>;
  /** The host the request is addressed to; loopback unless given. */
  host?: string;
  /** Values of path parameters; the others are random uuids, or `fill`. */
  params?: Record<string, string>;
  fill?: string;
};

export type Breach = {
  route: string;
  sent: string;
  status: number;
  /** Of an error. */
  code: string | null;
  wellFormed: boolean;
  detail: string;
};

export const badCredentials: readonly Record<string, string>[] = [
  { "x-api-key": "no such key" },
  { authorization: "Bearer no-such-key" },
  { authorization: "Basic dXNlcjpwYXNzd29yZA==" },
  // {"alg":"none"} and {}: a token nobody signed.
  { authorization: "Bearer eyJhbGciOiJub25lIn0.e30." },
];

export function routeName({ spec }: Route): string {
  return `${spec.method.toUpperCase()} ${spec.path}`;
}

/** One request to a route with nothing of value in it. The answer's body is read only when it is an error. */
export async function probe(fetch: AppFetch, route: Route, options: Probe): Promise<Breach> {
  const { spec } = route;
  const headers = new Headers(options.headers);
  const init: RequestInit = {
    method: spec.method.toUpperCase(),
    headers,
    signal: AbortSignal.timeout(20_000),
  };
  if (spec.method !== "get") {
    headers.set("content-type", "application/json");
    init.body = "{}";
  }
  const host = options.host ?? "127.0.0.1";
  const response = await fetch(new Request(`http://${host}${fillPath(spec.path, options)}`, init));
  const isError = response.status >= 400;
  const text = isError ? await response.text() : "";
  if (!isError) await response.body?.cancel();
  return {
    route: routeName(route),
    sent: describeHeaders(options),
    status: response.status,
    code: response.headers.get("x-error-code"),
    wellFormed: !isError || hasDetail(text),
    detail: text.slice(0, 200),
  };
}

function fillPath(path: string, options: Probe): string {
  return path.replace(/\{([\w.-]+)(\*?)\}/g, (_, name: string) => {
    const given = options.params?.[name];
    return given === undefined ? (options.fill ?? crypto.randomUUID()) : encodeURIComponent(given);
  });
}

/** A refusal carries `detail`; the streaming protocol and JSON-RPC have error shapes of their own. */
function hasDetail(text: string): boolean {
  try {
    const body = JSON.parse(text) as Record<string, unknown> | null;
    if (typeof body !== "object" || body === null) return false;
    return (
      "detail" in body ||
      (body.type === "error" && "message" in body) ||
      (body.jsonrpc === "2.0" && "error" in body)
    );
  } catch {
    return false;
  }
}

/** Which headers, without the keys in them. */
function describeHeaders({ headers, host, fill }: Probe): string {
  const names = Object.entries(headers).map(([name, value]) =>
    ["x-api-key", "cookie", "authorization"].includes(name) ? name : `${name}: ${value}`,
  );
  return [...names, ...(host ? [`host: ${host}`] : []), ...(fill ? [`ids: ${fill}`] : [])].join(", ");
}
