import { type ComponentType, type LazyExoticComponent, lazy } from "react";
import { reachability } from "../api/reachability.ts";

export type LazyPage = LazyExoticComponent<ComponentType> & { preload(): void };

const reloadedAt = "treadle.console.reloaded-at";
const reloadAgainMs = 60_000;

/**
 * A page whose script is fetched when it is first shown. While the server is away it waits. When the server is there
 * but the file is not, a new version was installed: the console is reloaded, in the same place.
 */
export function lazyPage(load: () => Promise<{ default: ComponentType }>): LazyPage {
  const component = lazy(() => loadPatiently(load));
  return Object.assign(component, {
    // When it fails, the page itself tries again and shows the error.
    preload: () => void load().catch(() => undefined),
  });
}

async function loadPatiently(load: () => Promise<{ default: ComponentType }>) {
  for (;;) {
    try {
      return await load();
    } catch (error) {
      await reachability.check();
      if (reachability.reachable) {
        const last = Number(sessionStorage.getItem(reloadedAt) ?? 0);
        if (Date.now() - last < reloadAgainMs) throw error;
        sessionStorage.setItem(reloadedAt, String(Date.now()));
        location.reload();
      }
      await reachability.returned();
    }
  }
}
