import { useSyncExternalStore } from "react";

/** `lost`: the server does not answer. `locked`: it wants to know who is asking. */
export type ConnectionStatus = "online" | "lost" | "locked";

// Earlier versions kept an API key here, where every script of this host can read it.
sessionStorage.removeItem("treadle.chat.api-key");

/** Which workspace the console shows in this tab, where it was open here before. */
const workspaceName = "treadle.console.workspace";

/**
 * The one way out of the page. `useStream` keeps quiet about a broken connection while it tries again, so what the
 * banner says comes from here: every request, a stream's included, goes through this class.
 */
class Connection {
  #status: ConnectionStatus = "online";
  readonly #listeners = new Set<() => void>();

  /** To this host. */
  readonly fetch: typeof fetch = async (input, init = {}) => {
    const response = await this.#send(
      () => fetch(input, { ...init, headers: ownHeaders(init.headers) }),
      init.signal,
    );
    this.#set(response.status === 401 ? "locked" : statusOf(response));
    return response;
  };

  /** Notices whether a server answers. */
  async watch(send: () => Promise<Response>, signal?: AbortSignal | null): Promise<Response> {
    const response = await this.#send(send, signal);
    this.#set(statusOf(response));
    return response;
  }

  async #send(send: () => Promise<Response>, signal?: AbortSignal | null): Promise<Response> {
    try {
      return await send();
    } catch (error) {
      if (!signal?.aborted) this.#set("lost");
      throw error;
    }
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly status = (): ConnectionStatus => this.#status;

  #set(status: ConnectionStatus): void {
    if (status === this.#status) return;
    this.#status = status;
    for (const listener of this.#listeners) listener();
  }
}

/** 502 and 504: a proxy in front of a server that is down; 503: a server that is stopping. */
function statusOf({ status }: Response): ConnectionStatus {
  return status === 502 || status === 503 || status === 504 ? "lost" : "online";
}

/** Tells the server that this is its own page, so that the session cookie is accepted. */
export function ownHeaders(given?: HeadersInit): Headers {
  const headers = new Headers(given);
  headers.set("x-treadle-console", "1");
  const workspace = sessionStorage.getItem(workspaceName);
  if (workspace) headers.set("x-tenant-id", workspace);
  return headers;
}

export const connection = new Connection();

export function useConnection(): ConnectionStatus {
  return useSyncExternalStore(connection.subscribe, connection.status);
}
