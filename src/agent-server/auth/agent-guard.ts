import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { Logger } from "../../platform/logger.ts";
import { statedFailure } from "./auth-failure.ts";
import { type AuthFilter, isPlain, metadataCondition } from "./auth-filter.ts";
import type { LoadedAuth } from "./project-auth.ts";

export const authActions = {
  assistants: ["create", "read", "update", "delete", "search"],
  threads: ["create", "read", "update", "delete", "search", "create_run"],
  crons: ["create", "read", "update", "delete", "search"],
  store: ["put", "get", "search", "delete", "list_namespaces"],
} as const;
export type AuthResource = keyof typeof authActions;
export type AuthAction<R extends AuthResource = AuthResource> = (typeof authActions)[R][number];

/** Asks the project's authorization handlers. Where a project has none, nothing is asked and nothing costs. */
export class AgentGuard {
  readonly #callbacks: LoadedAuth["callbacks"];
  readonly #logger: Logger;

  constructor(auth: Pick<LoadedAuth, "callbacks">, logger: Logger) {
    this.#callbacks = auth.callbacks;
    this.#logger = logger;
  }

  /**
   * Throws when the handler refuses. It may change `value`, and may answer with a filter that the rows of the
   * request must match; undefined restricts nothing.
   */
  async check<R extends AuthResource>(
    caller: Caller,
    resource: R,
    action: AuthAction<R>,
    value: Record<string, unknown>,
  ): Promise<AuthFilter | undefined> {
    const { principal } = caller;
    if (!principal) return undefined;
    const handler = this.#handlerFor(resource, action);
    if (!handler) return undefined;
    const event = `${resource}:${action}`;
    const { permissions, fields: user } = principal;
    let answer: unknown;
    try {
      answer = await handler({ event, resource, action, value, user, permissions });
    } catch (error) {
      const stated = statedFailure(error, "forbidden");
      if (stated) throw stated;
      this.#logger.error({ err: error, event }, "an authorization handler failed");
      throw new AppError({
        code: "auth.handler_failed",
        kind: "internal",
        message: `The project's authorization of ${event} failed: ${errorMessage(error)}`,
        cause: error,
      });
    }
    if (answer === undefined || answer === null || answer === true) return undefined;
    if (answer === false) throw forbidden(event);
    if (!isPlain(answer)) {
      throw new AppError({
        code: "auth.answer_unusable",
        kind: "internal",
        message: `The project's authorization of ${event} returned ${typeof answer}; it must return a filter, true, false or nothing.`,
      });
    }
    // Checked now rather than at the query, where the error would not name its cause.
    metadataCondition(answer);
    return answer;
  }

  #handlerFor(resource: string, action: string): LoadedAuth["callbacks"][string] | undefined {
    for (const key of [`${resource}:${action}`, resource, `*:${action}`, "*"]) {
      const handler = this.#callbacks[key];
      if (handler) return handler;
    }
    return undefined;
  }
}

function forbidden(event: string): AppError {
  return new AppError({
    code: "auth.forbidden",
    kind: "forbidden",
    message: `You are not permitted to do this (${event}).`,
  });
}
