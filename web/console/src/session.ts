import { useSyncExternalStore } from "react";

/** Who is signed in, as far as this browser knows. The server decides what the key may do. */
export type Role = "viewer" | "editor" | "admin";
export type Workspace = { id: string; organization_id: string; name: string; role: Role };
/** `place` differs for each key and workspace one has been in: nothing seen in one is shown in another. */
export type Session = { apiKey: string; workspaceId: string | null; place: number };

const keyName = "treadle.console.api-key";
const workspaceName = "treadle.console.workspace";

/** The key lives for the tab; with "stay signed in" for the browser. */
class SessionStore {
  #listeners = new Set<() => void>();
  #place = 1;
  #current: Session | null = read(1);

  constructor() {
    this.takeFromAddress();
    // Signing out in one tab signs out the others that share the key.
    addEventListener("storage", ({ key }) => {
      if (key === keyName) this.#change(read(this.#nextPlace()));
    });
    addEventListener("hashchange", () => this.takeFromAddress());
  }

  get current(): Session | null {
    return this.#current;
  }

  signIn(apiKey: string, options: { remember: boolean; workspaceId: string | null }): void {
    this.#forgetStored();
    const storage = options.remember ? localStorage : sessionStorage;
    storage.setItem(keyName, apiKey);
    if (options.workspaceId) storage.setItem(workspaceName, options.workspaceId);
    this.#change({ apiKey, workspaceId: options.workspaceId, place: this.#nextPlace() });
  }

  chooseWorkspace(workspaceId: string): void {
    if (!this.#current) return;
    const storage = sessionStorage.getItem(keyName) === null ? localStorage : sessionStorage;
    storage.setItem(workspaceName, workspaceId);
    // The first choice says where one already is.
    const place = this.#current.workspaceId ? this.#nextPlace() : this.#current.place;
    this.#change({ ...this.#current, workspaceId, place });
  }

  signOut(): void {
    this.#forgetStored();
    this.#change(null);
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** `/#key=…`, as the server prints it: signs in, and leaves the address at once. */
  private takeFromAddress(): void {
    const key = new URLSearchParams(location.hash.slice(1)).get("key");
    if (!key) return;
    history.replaceState(history.state, "", location.pathname + location.search);
    this.signIn(key, { remember: false, workspaceId: null });
  }

  #nextPlace(): number {
    this.#place += 1;
    return this.#place;
  }

  #forgetStored(): void {
    for (const storage of [sessionStorage, localStorage]) {
      storage.removeItem(keyName);
      storage.removeItem(workspaceName);
    }
  }

  #change(next: Session | null): void {
    this.#current = next;
    for (const listener of this.#listeners) listener();
  }
}

function read(place: number): Session | null {
  for (const storage of [sessionStorage, localStorage]) {
    const apiKey = storage.getItem(keyName);
    if (apiKey) return { apiKey, workspaceId: storage.getItem(workspaceName), place };
  }
  return null;
}

export const session = new SessionStore();

export function useSession(): Session | null {
  return useSyncExternalStore(session.subscribe, () => session.current);
}
