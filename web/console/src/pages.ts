import { type LazyPage, lazyPage } from "./shell/lazy-page.ts";

const traces = lazyPage(() => import("./pages/traces/index.tsx"));
const evaluation = lazyPage(() => import("./pages/evaluation/index.tsx"));

export type PageEntry = { path: string; component: LazyPage };

/** Each page folder is a script of its own. */
export const pages: readonly PageEntry[] = [
  { path: "/", component: lazyPage(() => import("./pages/overview/index.tsx")) },
  { path: "/deployments/*?", component: lazyPage(() => import("./pages/deployments/index.tsx")) },
  { path: "/agents/*?", component: lazyPage(() => import("./pages/agents/index.tsx")) },
  { path: "/traces/*?", component: traces },
  { path: "/datasets/*?", component: evaluation },
  { path: "/queues/*?", component: evaluation },
  { path: "/o/:tenant/datasets/*?", component: evaluation },
  { path: "/o/*?", component: traces },
  { path: "/exports/*?", component: lazyPage(() => import("./pages/exports/index.tsx")) },
  { path: "/alerts/*?", component: lazyPage(() => import("./pages/alerts/index.tsx")) },
  { path: "/connections/*?", component: lazyPage(() => import("./pages/connections/index.tsx")) },
  { path: "/settings/*?", component: lazyPage(() => import("./pages/settings/index.tsx")) },
];

/** Fetches the script of the page at this path before it is shown. */
export function preloadPage(path: string): void {
  const first = `/${path.split("/")[1] ?? ""}`;
  pages.find((page) => page.path.replace("/*?", "") === first)?.component.preload();
}
