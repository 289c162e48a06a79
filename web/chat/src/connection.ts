import { useSyncExternalStore } from "react";

/** `lost`: the server does not answer. `locked`: it wants an API key. */
export type ConnectionStatus = "online" | "lost" | "locked";

const keyName = "treadle.chat.api-key";

/**
 * The one way out of the page. `useStream` keeps quiet about a broken connection while it tries again, so what the
 * banner says comes from here: every request, a stream's included, goes through this `fetch`.
 */
class Connection {
  #status: ConnectionStatus = "online";
  readonly #listeners = new Set<() => void>();

  readonly fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    const key = sessionStorage.getItem(keyName);
    if (key !== null && !headers.has("x-api-key")) headers.set("x-api-key", key);
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

  /** Locked with a key: it was not accepted. */
  hasKey(): boolean {
    return sessionStorage.getItem(keyName) !== null;
  }

  /** For this tab only: it is forgotten when the tab is closed. */
  unlock(key: string): void {
    sessionStorage.setItem(keyName, key);
    this.#set("online");
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

export const connection = new Connection();

export function useConnection(): ConnectionStatus {
  return useSyncExternalStore(connection.subscribe, connection.status);
}
