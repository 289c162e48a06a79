import { type RefObject, useEffect, useRef } from "react";
import { useLocation } from "wouter";

/** A page that takes longer than this to load is not led to any more. */
const withinMs = 10_000;

/**
 * Going to another page puts the focus on its heading, where a screen reader goes on and Tab begins. A field that the page
 * itself gives the focus keeps it, and so does whatever is still there of the page before. Nothing is done on the first
 * load, as a browser would.
 */
export function usePageFocus(main: RefObject<HTMLElement | null>): void {
  const [location] = useLocation();
  const last = useRef(location);
  useEffect(() => {
    const area = main.current;
    if (!area || last.current === location) return;
    last.current = location;
    // A redirect of the first load.
    if (navigator.userActivation?.hasBeenActive === false) return;
    const over = new AbortController();
    const lead = () => leadTo(area);
    // The heading may come with the page's script or data, and another one may replace it then.
    const watch = new MutationObserver(lead);
    watch.observe(area, { childList: true, subtree: true });
    const timer = setTimeout(() => over.abort(), withinMs);
    const user = { signal: over.signal, capture: true };
    for (const kind of ["keydown", "pointerdown"]) document.addEventListener(kind, () => over.abort(), user);
    over.signal.addEventListener("abort", () => {
      watch.disconnect();
      clearTimeout(timer);
    });
    lead();
    return () => over.abort();
  }, [location, main]);
}

function leadTo(area: HTMLElement): void {
  const heading = area.querySelector("h1");
  const active = document.activeElement;
  const isTaken = active !== area && area.contains(active);
  if (!heading || isTaken || active?.closest("dialog[open]")) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}
