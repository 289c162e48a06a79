import { type IncomingMessage, request } from "node:http";
import { AppError } from "../../../platform/errors.ts";

export type EngineCall = {
  method: string;
  path: string;
  body?: unknown;
  signal?: AbortSignal;
};

/** The few calls of the Docker Engine API that a runtime needs, over its socket. */
export class DockerEngine {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  open({ method, path, body, signal }: EngineCall): Promise<IncomingMessage> {
    const socketPath = this.#socketPath;
    return new Promise((resolve, reject) => {
      const outgoing = request({
        ...{ socketPath, method, path: `/v1.41${path}`, agent: false },
        headers: body === undefined ? {} : { "content-type": "application/json" },
        ...(signal ? { signal } : {}),
      });
      outgoing.once("response", resolve);
      outgoing.once("error", (error) =>
        reject(signal?.aborted ? signal.reason : unreachable(socketPath, error)),
      );
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Null for a 404; other refusals throw the engine's message. */
  async call<Answer>(given: EngineCall): Promise<Answer | null> {
    const response = await this.open(given);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const status = response.statusCode ?? 0;
    if (status === 404) return null;
    // 304: it is in that state already.
    if (status >= 400) throw refused(given, status, text);
    return (text === "" || status === 304 ? {} : parse(text)) as Answer;
  }
}

/** Pulls answer with one JSON text after another; only the last holds the outcome. */
function parse(text: string): unknown {
  const last = text.trim().split("\n").at(-1) ?? "";
  try {
    return JSON.parse(last);
  } catch {
    return {};
  }
}

function refused({ method, path }: EngineCall, status: number, text: string): AppError {
  const answer = parse(text) as { message?: string };
  return new AppError({
    code: "runtime.docker_refused",
    kind: "unavailable",
    retryable: false,
    message: `Docker refused ${method} ${path.split("?")[0]} (${status}): ${answer.message ?? text.slice(0, 500)}`,
  });
}

function unreachable(socketPath: string, cause: NodeJS.ErrnoException): AppError {
  return new AppError({
    code: "runtime.docker_unreachable",
    kind: "unavailable",
    message: `The Docker Engine does not respond at ${socketPath} (${cause.code ?? cause.message}). Start it, or set TREADLE_DOCKER_SOCKET.`,
    cause,
  });
}
