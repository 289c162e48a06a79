import type { IncomingMessage } from "node:http";
import { Agent, type RequestOptions, request } from "node:https";
import { AppError } from "../../../platform/errors.ts";
import { KubernetesRefusal, readStatus } from "./refusal.ts";

/** Where the API server is, and who asks. `token` is asked for each time: those of pods are replaced every hour. */
export type KubernetesAccess = {
  server: string;
  authority?: string | Buffer;
  certificate?: string | Buffer;
  key?: string | Buffer;
  token?: () => Promise<string>;
  /** Of the context; where nothing else is said. */
  namespace: string;
};

export type KubernetesObject = {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    uid: string;
    resourceVersion: string;
    generation?: number;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    creationTimestamp?: string;
    deletionTimestamp?: string;
  };
};

export type Listed<Item> = { items: Item[]; resourceVersion: string };

export type KubernetesCall = {
  method: string;
  path: string;
  query?: Record<string, string>;
  body?: unknown;
  contentType?: string;
  /** What kind of answer; the whole object where it is not said. */
  accept?: string;
  /** Its answer goes on until something ends it: a watch, or a log that is followed. */
  lasting?: boolean;
  signal?: AbortSignal;
};

/** Objects have at most 1.5 MB each, and pages of a list `pageSize` objects. */
const maxAnswerBytes = 64 * 1024 * 1024;
const maxRefusalBytes = 64 * 1024;
const pageSize = "200";
/** Until the first byte of an answer; what is read afterwards has its own limits. */
const answerMs = 30_000;

/** The few calls of the Kubernetes API that a runtime needs. */
export class KubernetesApi {
  readonly namespace: string;
  readonly #access: KubernetesAccess;
  readonly #server: URL;
  readonly #agent: Agent;
  /** Each answer that lasts keeps its connection, and there is one for every pod: they take none from the calls. */
  readonly #lastingAgent: Agent;

  constructor(access: KubernetesAccess) {
    this.#access = access;
    this.#server = new URL(access.server);
    this.namespace = access.namespace;
    const options = {
      ...{ keepAlive: true, timeout: 60_000 },
      ...(access.authority ? { ca: access.authority } : {}),
      ...(access.certificate ? { cert: access.certificate } : {}),
      ...(access.key ? { key: access.key } : {}),
    };
    this.#agent = new Agent({ ...options, maxSockets: 64 });
    this.#lastingAgent = new Agent(options);
  }

  /** Ends idle connections. */
  close(): void {
    this.#agent.destroy();
    this.#lastingAgent.destroy();
  }

  get<Answer>(path: string, signal?: AbortSignal): Promise<Answer | null> {
    return this.#call<Answer>({ method: "GET", path, ...(signal ? { signal } : {}) });
  }

  /** Everything with these labels, page by page. */
  async list<Item>(
    path: string,
    labelSelector: string,
    signal?: AbortSignal,
  ): Promise<Listed<Item & KubernetesObject>> {
    const items: (Item & KubernetesObject)[] = [];
    let next = "";
    for (;;) {
      const query = { labelSelector, limit: pageSize, ...(next ? { continue: next } : {}) };
      const page = await this.#call<ListAnswer<Item>>({
        ...{ method: "GET", path, query },
        ...(signal ? { signal } : {}),
      });
      if (page === null) throw missing(path);
      items.push(...(page.items ?? []));
      next = page.metadata.continue ?? "";
      if (!next) return { items, resourceVersion: page.metadata.resourceVersion };
    }
  }

  /** Null when something of that name is there already. */
  async create<Answer extends KubernetesObject>(path: string, body: object): Promise<Answer | null> {
    try {
      const made = await this.#call<Answer>({ method: "POST", path, body });
      if (made === null) throw missing(path);
      return made;
    } catch (error) {
      if (error instanceof KubernetesRefusal && error.reason === "AlreadyExists") return null;
      throw error;
    }
  }

  /** Server-side apply: makes it, or changes the fields that this manager has set. */
  async apply<Answer extends KubernetesObject>(
    path: string,
    body: object,
    manager: string,
    signal?: AbortSignal,
  ): Promise<Answer> {
    const applied = await this.#call<Answer>({
      ...{ method: "PATCH", path, body, contentType: "application/apply-patch+yaml" },
      ...(signal ? { signal } : {}),
      query: { fieldManager: manager, force: "true" },
    });
    if (applied === null) throw missing(path);
    return applied;
  }

  /** Changes some fields; null when it is not there. */
  patch<Answer>(path: string, body: object, manager: string, signal?: AbortSignal): Promise<Answer | null> {
    const contentType = "application/merge-patch+json";
    return this.#call<Answer>({
      ...{ method: "PATCH", path, body, contentType, query: { fieldManager: manager } },
      ...(signal ? { signal } : {}),
    });
  }

  /**
   * What an object says about itself, without its content; null when it is not there. It is asked for by a change of
   * nothing that is only tried: whoever may make and change Secrets may do this, and needs no right to read them.
   */
  describe(path: string, manager: string): Promise<KubernetesObject | null> {
    return this.#call<KubernetesObject>({
      ...{ method: "PATCH", path, body: {}, contentType: "application/merge-patch+json" },
      query: { fieldManager: manager, dryRun: "All" },
      accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    });
  }

  /** False when it was not there. With a uid, only the object that has it: another of the same name stays. */
  async remove(
    path: string,
    options: { uid?: string; graceSeconds?: number; propagation?: "Background" | "Foreground" } = {},
  ): Promise<boolean> {
    const body = {
      ...{ apiVersion: "v1", kind: "DeleteOptions" },
      propagationPolicy: options.propagation ?? "Background",
      ...(options.graceSeconds === undefined ? {} : { gracePeriodSeconds: options.graceSeconds }),
      ...(options.uid === undefined ? {} : { preconditions: { uid: options.uid } }),
    };
    try {
      return (await this.#call({ method: "DELETE", path, body })) !== null;
    } catch (error) {
      // Another object has the name now, so the one that was meant is gone.
      if (error instanceof KubernetesRefusal && error.status === 409) return false;
      throw error;
    }
  }

  /** The answer as a stream; refusals throw. Only the caller ends it. */
  async open(given: KubernetesCall): Promise<IncomingMessage> {
    const response = await this.#send(given);
    const status = response.statusCode ?? 0;
    if (status < 400) return response;
    const text = await readText(response, maxRefusalBytes).catch(() => "");
    throw new KubernetesRefusal(given, readStatus(status, text));
  }

  async #call<Answer>(given: KubernetesCall): Promise<Answer | null> {
    try {
      const response = await this.open(given);
      return JSON.parse(await readText(response, maxAnswerBytes)) as Answer;
    } catch (error) {
      if (error instanceof KubernetesRefusal && error.status === 404) return null;
      throw error instanceof AppError || given.signal?.aborted ? error : this.#unreachable(error as Error);
    }
  }

  async #send(given: KubernetesCall): Promise<IncomingMessage> {
    const { method, path, query, body, contentType, signal } = given;
    const headers: Record<string, string> = { accept: given.accept ?? "application/json" };
    if (this.#access.token) headers.authorization = `Bearer ${await this.#access.token()}`;
    const text = body === undefined ? undefined : JSON.stringify(body);
    if (text !== undefined) {
      headers["content-type"] = contentType ?? "application/json";
      // A DELETE has no body unless it says how long it is.
      headers["content-length"] = String(Buffer.byteLength(text));
    }
    const agent = given.lasting ? this.#lastingAgent : this.#agent;
    const search = query ? `?${new URLSearchParams(query)}` : "";
    const options: RequestOptions = {
      ...{ host: this.#server.hostname, port: this.#server.port || 443, agent, method, headers },
      path: `${this.#server.pathname.replace(/\/$/, "")}${path}${search}`,
      ...(signal ? { signal } : {}),
    };
    return await new Promise((resolve, reject) => {
      const outgoing = request(options);
      const timer = setTimeout(
        () => outgoing.destroy(new Error(`no answer within ${answerMs / 1000} s`)),
        answerMs,
      );
      outgoing.once("response", (response) => {
        clearTimeout(timer);
        resolve(response);
      });
      outgoing.once("error", (error) => {
        clearTimeout(timer);
        reject(signal?.aborted ? signal.reason : this.#unreachable(error));
      });
      outgoing.end(text);
    });
  }

  #unreachable(cause: NodeJS.ErrnoException): AppError {
    return new AppError({
      code: "runtime.kubernetes_unreachable",
      kind: "unavailable",
      message: `The Kubernetes API server does not respond at ${this.#server.origin} (${cause.code ?? cause.message}).`,
      cause,
    });
  }
}

type ListAnswer<Item> = {
  metadata: { resourceVersion: string; continue?: string };
  items: (Item & KubernetesObject)[] | null;
};

async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (bytes > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function missing(path: string): AppError {
  return new AppError({
    code: "runtime.kubernetes_refused",
    kind: "unavailable",
    retryable: false,
    message: `The Kubernetes API server does not know ${path}. Check TREADLE_KUBERNETES_NAMESPACE.`,
  });
}
