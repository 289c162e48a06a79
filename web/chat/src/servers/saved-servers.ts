import { connection } from "../connection.ts";

/** A server somewhere else, with the key it wants. Both stay in this browser; they are not sent to our server. */
export type SavedServer = { id: string; name: string; url: string; key: string };

const name = "treadle.chat.servers";

export function readSavedServers(): SavedServer[] {
  try {
    const saved: unknown = JSON.parse(localStorage.getItem(name) ?? "[]");
    return Array.isArray(saved) ? saved.filter(isSavedServer) : [];
  } catch {
    // Other code wrote there; the value is not ours.
    return [];
  }
}

export function writeSavedServers(servers: readonly SavedServer[]): void {
  localStorage.setItem(name, JSON.stringify(servers));
}

function isSavedServer(value: unknown): value is SavedServer {
  const one = value as Partial<SavedServer> | null;
  return [one?.id, one?.name, one?.url, one?.key].every((field) => typeof field === "string");
}

/** The address as requests are built from it; undefined for what is none. */
export function readServerUrl(text: string): string | undefined {
  try {
    const { protocol, origin, pathname, username } = new URL(text.trim());
    if ((protocol !== "https:" && protocol !== "http:") || username !== "") return undefined;
    return `${origin}${pathname}`.replace(/\/+$/, "");
  } catch {
    return undefined;
  }
}

/** With the key, and without cookies: they are not for that server. */
export function keyedFetch(key: string): typeof fetch {
  return (input, init = {}) => {
    const headers = new Headers(init.headers);
    if (key !== "") headers.set("x-api-key", key);
    return connection.watch(() => fetch(input, { ...init, headers, credentials: "omit" }), init.signal);
  };
}
