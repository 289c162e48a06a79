import { useSyncExternalStore } from "react";
import type { CurrentSession, Workspace } from "./api/wire.ts";
import { isStudio } from "./studio-mode.ts";

/** Who is signed in, from the server. The browser holds a cookie that no script can read, and no key. */
export type Role = Workspace["role"];
export type User = CurrentSession["user"];
export type { Workspace };
/** `place` differs for each session and workspace one has been in: nothing seen in one is shown in another. */
export type Session = {
  id: string;
  user: User;
  /** The key it was started with, if with one. */
  apiKeyId: string | null;
  workspaceId: string | null;
  place: number;
};
/** `checking`: the server was asked and has not answered yet; `away`: it does not answer, and is asked again. */
export type SessionState = Session | "checking" | "away" | null;

/** Sent with every request: a header that other sites' pages cannot send, which proves that it is this page. */
export const consoleHeaders: Readonly<Record<string, string>> = {
  "x-treadle-console": "1",
  // For a project with its own sign-in: marks the request as one of the server's operator.
  ...(isStudio ? { "x-auth-scheme": "langsmith" } : {}),
};

const current = "/v2/auth/sessions/current";
/** Which workspace this tab is in; another tab may be in another one. */
const workspaceName = "treadle.console.workspace";
const retryMs = 1_500;

class SessionStore {
  #listeners = new Set<() => void>();
  #place = 1;
  #state: SessionState = "checking";
  /** Other tabs are notified to look again. */
  #tabs = new BroadcastChannel("treadle.console.session");

  constructor() {
    forgetKeys();
    // There are no sessions there; who came by a link has a cookie of that server.
    if (isStudio) return;
    this.#tabs.addEventListener("message", () => void this.refresh());
    void this.refresh();
  }

  get state(): SessionState {
    return this.#state;
  }

  get current(): Session | null {
    return typeof this.#state === "string" ? null : this.#state;
  }

  /** Asks the server who is signed in. */
  async refresh(): Promise<void> {
    const workspace = sessionStorage.getItem(workspaceName);
    // The user who is signed in now may have no access to this tab's workspace.
    const answer = (await ask(workspace)) ?? (workspace === null ? null : await ask(null));
    if (answer === "away") {
      if (this.current === null) this.#change("away");
      setTimeout(() => void this.refresh(), retryMs);
      return;
    }
    if (answer === null || answer.session === null) {
      this.ended();
      return;
    }
    const { user, session, workspace_id: workspaceId } = answer;
    const before = this.current;
    if (before?.id === session.id) return;
    sessionStorage.setItem(workspaceName, workspaceId);
    this.#change({
      id: session.id,
      user,
      apiKeyId: session.api_key_id,
      workspaceId,
      place: this.#nextPlace(),
    });
  }

  /** The server has just set the cookie of a new session. */
  async signedIn(): Promise<void> {
    sessionStorage.removeItem(workspaceName);
    await this.refresh();
    this.#tabs.postMessage("changed");
  }

  chooseWorkspace(workspaceId: string): void {
    const { current: session } = this;
    if (!session) return;
    sessionStorage.setItem(workspaceName, workspaceId);
    // The first choice is where one already is.
    const place = session.workspaceId ? this.#nextPlace() : session.place;
    this.#change({ ...session, workspaceId, place });
    if (workspaceId !== "") void remember(workspaceId);
  }

  /** Ends the session at the server; this browser then holds nothing. */
  async signOut(): Promise<void> {
    const answer = await fetch(current, { method: "DELETE", headers: consoleHeaders }).catch(() => null);
    // Whether it had ended before or now: it is over. Without an answer the cookie would still be good.
    if (answer === null || (!answer.ok && answer.status !== 401 && answer.status !== 403)) {
      throw new Error("The server did not respond, so you are still signed in. Try again.");
    }
    this.ended();
    this.#tabs.postMessage("changed");
  }

  /** The server knows the session no more. */
  ended(): void {
    sessionStorage.removeItem(workspaceName);
    if (this.#state !== null) this.#change(null);
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #nextPlace(): number {
    this.#place += 1;
    return this.#place;
  }

  #change(next: SessionState): void {
    this.#state = next;
    for (const listener of this.#listeners) listener();
  }
}

/** Null: no user is signed in. */
async function ask(workspaceId: string | null): Promise<CurrentSession | "away" | null> {
  const headers = { ...consoleHeaders, ...(workspaceId ? { "x-tenant-id": workspaceId } : {}) };
  const answer = await fetch(current, { headers }).catch(() => null);
  if (answer === null || answer.status >= 500 || answer.status === 429) return "away";
  return answer.ok ? ((await answer.json()) as CurrentSession) : null;
}

/** So that the next visit begins where this one was. A failure is not reported. */
async function remember(workspaceId: string): Promise<void> {
  await fetch(current, {
    method: "PATCH",
    headers: { ...consoleHeaders, "content-type": "application/json", "x-tenant-id": workspaceId },
    body: JSON.stringify({ workspace_id: workspaceId }),
  }).catch(() => undefined);
}

/** Earlier versions kept API keys where every script of this host can read them. */
function forgetKeys(): void {
  const names = ["treadle.console.api-key", "treadle.chat.api-key", "treadle.api-key", "docs.key"];
  for (const storage of [sessionStorage, localStorage]) {
    for (const name of names) storage.removeItem(name);
  }
  localStorage.removeItem(workspaceName);
}

export const session = new SessionStore();

export function useSession(): SessionState {
  return useSyncExternalStore(session.subscribe, () => session.state);
}
