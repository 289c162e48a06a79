import { type RefObject, useEffect } from "react";

/**
 * Answering, replaying or forking removes the control that was used, and the browser then puts the focus back to the
 * top of the page. This puts it into the conversation instead, where the result appears.
 */
export function useKeptFocus(area: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const root = area.current;
    if (!root) return;
    let used: EventTarget | null = null;
    const remember = ({ target }: FocusEvent) => {
      used = target;
    };
    const watch = new MutationObserver(() => {
      if (!(used instanceof Node) || used.isConnected) return;
      if (document.activeElement === document.body) {
        // A conversation that is still loading gets the focus when it is there.
        root.querySelector<HTMLElement>(".talk")?.focus({ preventScroll: true });
      } else used = null;
    });
    root.addEventListener("focusin", remember);
    watch.observe(root, { childList: true, subtree: true });
    return () => {
      root.removeEventListener("focusin", remember);
      watch.disconnect();
    };
  }, [area]);
}
