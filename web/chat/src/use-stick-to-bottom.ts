import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

const nearPx = 80;

/** Follows what is written while the person is at the end, and leaves them alone when they have scrolled up to read. */
export function useStickToBottom(
  frame: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
  enabled: boolean,
) {
  const [atEnd, setAtEnd] = useState(true);
  const sticking = useRef(true);

  const toEnd = useCallback(() => {
    sticking.current = true;
    frame.current?.scrollTo({ top: frame.current.scrollHeight });
  }, [frame]);

  useEffect(() => {
    const box = frame.current;
    const inner = content.current;
    if (!box || !inner || !enabled) return;
    let before = box.scrollTop;
    const onScroll = () => {
      const near = box.scrollHeight - box.scrollTop - box.clientHeight < nearPx;
      // Only going up is a wish to stay; what is written meanwhile also takes the end away.
      if (near) sticking.current = true;
      else if (box.scrollTop < before) sticking.current = false;
      before = box.scrollTop;
      setAtEnd(near || sticking.current);
    };
    const observer = new ResizeObserver(() => {
      if (sticking.current) box.scrollTop = box.scrollHeight;
    });
    observer.observe(inner);
    observer.observe(box);
    box.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", onScroll);
    };
  }, [frame, content, enabled]);

  return { atEnd, toEnd };
}
