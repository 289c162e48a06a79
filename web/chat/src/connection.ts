import { useSyncExternalStore } from "react";

/** `lost`: the server does not answer. `locked`: it wants to know who is asking. */
export type ConnectionStatus = "online" | "lost" | "locked";

// Earlier versions kept an API key here, where every script of this host can read it.
sessionStorage.removeItem("treadle.chat.api-key");

/**
 * The one way out of the page. `useStream` keeps quiet about a broken connection while it tries again, so what the
 * banner says comes from here: every request, a stream's included, goes through this `fetch`.
 */
class Connection {
  #status: ConnectionStatus = "online";
  readonly #listeners = new Set<() => void>();

  readonly fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    // Tells the server that this is its own page, so that the session of whoever is signed in counts.
    headers.set("x-treadle-console", "1");
    let response: Response;
    try {
      response = await fetch(input, { ...init, headers });
    } catch (error) {
      if (!init.signal?.aborted) this.#set("lost");
      throw error;
    }
    // A proxy in front of a server that is down, or a server that is stopping.
    const unavailable = response.status === 502 || response.status === 503 || response.status === 504;
    this.#set(response.status === 401 ? "locked" : unavailable ? "lost" : "online");
    return response;
  };

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

export const connection = new Connection();

export function useConnection(): ConnectionStatus {
  return useSyncExternalStore(connection.subscribe, connection.status);
}
