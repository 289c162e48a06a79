import { type RefObject, useLayoutEffect, useState } from "react";
import { flushSync } from "react-dom";
import { rowWindow } from "./row-window.ts";

/** Which rows of a long list are in the page. All have one height, so nothing is measured but the box that scrolls. */
export function useRowWindow(box: RefObject<HTMLElement | null>, count: number, height: number) {
  const [first, setFirst] = useState(0);
  const [room, setRoom] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const read = () => setFirst(Math.floor(element.scrollTop / height));
    // At once: after the next frame a person would see where the rows are missing.
    const onScroll = () => flushSync(read);
    const watch = new ResizeObserver(() => setRoom(element.clientHeight));
    setRoom(element.clientHeight);
    read();
    watch.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, [box, height]);
  return rowWindow({ first, room, count, height });
}
