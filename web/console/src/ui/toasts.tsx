import { CircleCheck, CircleX, X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { messageOf } from "./states.tsx";

type Toast = { id: number; tone: "good" | "bad"; text: string };

/** Short messages about what was just done. `toast.good("Key revoked.")`, `toast.bad(error)`. */
class Toasts {
  #shown: readonly Toast[] = [];
  #next = 1;
  #listeners = new Set<() => void>();

  get shown(): readonly Toast[] {
    return this.#shown;
  }

  good(text: string): void {
    this.#add({ id: this.#next++, tone: "good", text }, 4_000);
  }

  bad(error: unknown): void {
    this.#add(
      { id: this.#next++, tone: "bad", text: typeof error === "string" ? error : messageOf(error) },
      10_000,
    );
  }

  dismiss(id: number): void {
    this.#set(this.#shown.filter((toast) => toast.id !== id));
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #add(toast: Toast, stayMs: number): void {
    this.#set([...this.#shown.slice(-3), toast]);
    setTimeout(() => this.dismiss(toast.id), stayMs);
  }

  #set(shown: readonly Toast[]): void {
    this.#shown = shown;
    for (const listener of this.#listeners) listener();
  }
}

export const toast = new Toasts();

export function ToastList() {
  const shown = useSyncExternalStore(toast.subscribe, () => toast.shown);
  return (
    <div className="toasts" aria-live="polite" role="status">
      {shown.map(({ id, tone, text }) => (
        <div key={id} className={`toast ${tone}`}>
          {tone === "good" ? (
            <CircleCheck aria-hidden="true" size={17} />
          ) : (
            <CircleX aria-hidden="true" size={17} />
          )}
          <span>{text}</span>
          <button
            type="button"
            className="button quiet small icon-only"
            aria-label="Dismiss"
            onClick={() => toast.dismiss(id)}
          >
            <X aria-hidden="true" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}
