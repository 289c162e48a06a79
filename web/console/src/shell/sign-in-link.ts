import { useSyncExternalStore } from "react";
import { isStudio } from "../studio-mode.ts";

/** What an address carried behind `#`. It is taken out of the address at once: history and screens are read by others. */
export type Carried = { code: string | null; hadKey: boolean };

let carried: Carried = { code: null, hadKey: false };
const listeners = new Set<() => void>();

function take(): void {
  const values = new URLSearchParams(location.hash.slice(1));
  const [code, key] = [values.get("code"), values.get("key")];
  if (code === null && key === null) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  // A key in an address does not sign in: the author of a link could sign its reader in as another user.
  set({ code: location.pathname === "/sign-in" ? code : null, hadKey: key !== null });
}

function set(next: Carried): void {
  carried = next;
  for (const listener of listeners) listener();
}

// The studio has links of its own.
if (!isStudio) {
  take();
  addEventListener("hashchange", take);
}

export function useCarried(): Carried {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => carried,
  );
}

let tried: string | null = null;

/** Whether this code has not been tried yet, and marks it as tried. A second try would find it used up. */
export function tryOnce(code: string): boolean {
  if (tried === code) return false;
  tried = code;
  return true;
}

/** The code was used, or will not be. */
export function forgetCode(): void {
  set({ ...carried, code: null });
}
