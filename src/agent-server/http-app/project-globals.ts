import { AsyncLocalStorage } from "node:async_hooks";
import type { Logger } from "../../platform/logger.ts";

type Fetch = (request: Request) => Response | Promise<Response>;

/** Where every copy of the SDK in a project's code looks. */
const fetchKey = Symbol.for("langgraph_api:fetch");
const loggerKey = Symbol.for("langgraph.api.sdk-logger");
/** What relative addresses are relative to; a client without an address names this host. */
const base = "http://localhost:8123";

/**
 * What code of the project finds without asking for it: the server's log, and the server itself for a client that was
 * made without an address. Set before the project is loaded, because both are often taken while a file is imported.
 */
export class ProjectGlobals {
  readonly #inProcess = new AsyncLocalStorage<true>();
  readonly #before: readonly (readonly [symbol, unknown])[];
  #serving: Fetch | undefined;
  #servingOwn: Fetch | undefined;

  constructor(logger: Logger) {
    const values: [symbol, unknown][] = [
      [fetchKey, (target: string | URL | Request, init?: RequestInit) => this.#fetch(target, init)],
      [loggerKey, sdkLogger(logger)],
    ];
    this.#before = values.map(([key]) => [key, globals[key]] as const);
    for (const [key, value] of values) globals[key] = value;
  }

  /** From here on a client without an address reaches the server; `own`: its own routes alone. */
  serve(fetch: Fetch, own: Fetch): void {
    this.#serving = fetch;
    this.#servingOwn = own;
  }

  /** A request of the project's own code, in any process. */
  call(request: Request): Promise<Response> {
    return this.#fetch(request);
  }

  /** A client's request that the project's application passes on to the server's routes. */
  async passOn(request: Request): Promise<Response> {
    const answer = this.#servingOwn;
    if (!answer) throw stillStarting();
    return this.#inProcess.exit(() => answer(request));
  }

  /** Whether the current request was made by the project's own code, in this process. */
  isInProcess(): boolean {
    return this.#inProcess.getStore() === true;
  }

  /** Runs work that may have begun with such a request, but is not one. */
  outside<T>(work: () => T): T {
    return this.#inProcess.exit(work);
  }

  remove(): void {
    for (const [key, value] of this.#before) {
      if (value === undefined) delete globals[key];
      else globals[key] = value;
    }
  }

  async #fetch(target: string | URL | Request, init?: RequestInit): Promise<Response> {
    const answer = this.#serving;
    if (!answer) throw stillStarting();
    const request = target instanceof Request ? target : new Request(new URL(target, base), init);
    return this.#inProcess.run(true, async () => answer(request));
  }
}

const globals = globalThis as unknown as Record<symbol, unknown>;

function stillStarting(): Error {
  return new Error("The server is still starting; call it from a node or a route.");
}

/** The SDK's levels, and where they go. */
const levels = {
  error: "error",
  warn: "warn",
  help: "info",
  data: "info",
  info: "info",
  prompt: "info",
  http: "info",
  input: "info",
  debug: "debug",
  verbose: "debug",
  silly: "trace",
} as const;

type SdkLogger = Record<keyof typeof levels, (message: unknown, ...meta: unknown[]) => SdkLogger>;

function sdkLogger(logger: Logger): SdkLogger {
  const made = {} as SdkLogger;
  for (const [name, level] of Object.entries(levels) as [keyof typeof levels, "info"][]) {
    made[name] = (message, ...meta) => {
      logger[level](fieldsOf(message, meta), textOf(message));
      return made;
    };
  }
  return made;
}

function textOf(message: unknown): string {
  if (typeof message === "string") return message;
  if (message instanceof Error) return message.message;
  if (typeof message !== "object" || message === null) return String(message);
  return "message" in message ? String(message.message) : "";
}

/** Fields that the project logs beside the text get names of their own, so that it cannot pass for ours. */
function fieldsOf(message: unknown, meta: unknown[]): Record<string, unknown> {
  const error = [message, ...meta].find((part) => part instanceof Error);
  const parts = [message, ...meta].filter(
    (part) => typeof part === "object" && part !== null && !(part instanceof Error),
  );
  return {
    source: "project",
    ...(parts.length > 0 ? { fields: Object.assign({}, ...parts) as object } : {}),
    ...(error ? { err: error } : {}),
  };
}
