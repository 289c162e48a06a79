import type { LoadedAuth } from "../../auth/project-auth.ts";
import type { Incoming } from "./call-stream.ts";
import type { PythonPool } from "./python-pool.ts";

type Description = { handlers: readonly string[]; authenticates: boolean };

type AuthEvent = {
  resource: string;
  action: string;
  value: Record<string, unknown>;
  user: Record<string, unknown>;
  permissions: string[];
};

/** The project's own authentication and authorization, where they are Python's. */
export function pythonAuth(
  pool: PythonPool,
  { handlers, authenticates }: Description,
  disableStudioAuth: boolean,
): LoadedAuth {
  const on = (event: unknown) => authorize(pool, event as AuthEvent);
  return {
    authenticate: authenticates ? (request) => authenticate(pool, request as Request) : undefined,
    callbacks: Object.fromEntries(handlers.map((name) => [handlerKey(name), on])),
    disableStudioAuth,
  };
}

/** `threads.create`, `threads` and `*`, in each of their spellings. */
function handlerKey(name: string): string {
  const key = name.replace(".", ":").replace(/:\*$/, "");
  return key === "" ? "*" : key;
}

async function authenticate(pool: PythonPool, request: Request): Promise<unknown> {
  const { pathname: path, search: query } = new URL(request.url);
  const headers = [...request.headers];
  const worker = await pool.any();
  const meta = { httpMethod: request.method, path, query: query.slice(1), headers };
  return jsonOf(await worker.call("auth.authenticate", meta));
}

/** A handler may change the value, which is then changed here too. */
async function authorize(pool: PythonPool, event: AuthEvent): Promise<unknown> {
  const { resource, action, value, user, permissions } = event;
  const worker = await pool.any();
  const { meta } = await worker.call("auth.on", { resource, action, value, user, permissions });
  const changed = meta.value as Record<string, unknown> | undefined;
  if (changed) {
    for (const key of Object.keys(value)) if (!(key in changed)) delete value[key];
    Object.assign(value, changed);
  }
  return meta.result;
}

function jsonOf({ segments }: Incoming): unknown {
  return JSON.parse(segments[0]!.toString());
}
