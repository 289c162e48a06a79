import { type KeyboardEvent, type PointerEvent, type RefObject, useEffect, useRef } from "react";
import { fitView, revealed, type View, zoomAt } from "./view.ts";

type Size = { width: number; height: number };

/**
 * Moves what is drawn by the transform of one box, which the browser does without laying anything out: moved inside the
 * drawing, every node of it is laid out and painted again, in three times the time. React draws nothing while one drags.
 * The wheel zooms with Ctrl, or where the page itself cannot scroll; two fingers do on a screen one touches.
 */
export function usePanZoom(content: Size): {
  frame: RefObject<HTMLDivElement | null>;
  layer: RefObject<SVGSVGElement | null>;
  events: {
    onPointerDown(event: PointerEvent<HTMLDivElement>): void;
    onPointerMove(event: PointerEvent<HTMLDivElement>): void;
    onPointerUp(event: PointerEvent<HTMLDivElement>): void;
    onPointerCancel(event: PointerEvent<HTMLDivElement>): void;
    onKeyDown(event: KeyboardEvent<HTMLDivElement>): void;
  };
  zoom(factor: number): void;
  showAll(): void;
  /** Scrolls a part into view, unless the user has moved the view; one with the focus always. */
  reveal(part: Size & { x: number; y: number }, focused?: boolean): void;
} {
  const frame = useRef<HTMLDivElement>(null);
  const layer = useRef<SVGSVGElement>(null);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  const fingers = useRef(new Map<number, { x: number; y: number }>());
  const touched = useRef(false);
  const { width, height } = content;

  const show = (next: View) => {
    view.current = next;
    if (layer.current)
      layer.current.style.transform = `translate(${next.x}px, ${next.y}px) scale(${next.scale})`;
  };
  const size = (): Size => {
    const box = frame.current?.getBoundingClientRect();
    return { width: box?.width ?? 1, height: box?.height ?? 1 };
  };
  const showFitted = (legible: boolean) => show(fitView({ width, height }, size(), { legible }));
  const showAll = () => {
    touched.current = true;
    showFitted(false);
  };
  const reveal = (part: Size & { x: number; y: number }, focused = false) => {
    if (focused || !touched.current) show(revealed(view.current, part, size()));
  };
  const zoom = (factor: number, at?: { x: number; y: number }) => {
    touched.current = true;
    const middle = { x: size().width / 2, y: size().height / 2 };
    show(zoomAt(view.current, factor, at ?? middle));
  };
  const place = (event: { clientX: number; clientY: number }) => {
    const box = frame.current!.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: what is drawn has another size: it is shown whole again
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    touched.current = false;
    showFitted(true);
    // Until the user moves it, it stays fitted to its frame.
    const watch = new ResizeObserver(() => {
      if (!touched.current) showFitted(true);
    });
    watch.observe(element);
    let turned = { at: Number.NEGATIVE_INFINITY, scrollsPage: false };
    // React listens to the wheel passively: there the page would scroll as well.
    const wheel = (event: WheelEvent) => {
      // Asked once for each turn: it lays the page out.
      const isSame = event.timeStamp - turned.at < 300;
      turned = { at: event.timeStamp, scrollsPage: isSame ? turned.scrollsPage : isInScrolledPage(element) };
      if (turned.scrollsPage && !event.ctrlKey) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), place(event));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      watch.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, [width, height]);

  const drop = (event: PointerEvent) => void fingers.current.delete(event.pointerId);
  return {
    frame,
    layer,
    zoom,
    showAll,
    reveal,
    events: {
      onPointerDown(event) {
        if (event.button !== 0) return;
        fingers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
      },
      onPointerMove(event) {
        const before = fingers.current.get(event.pointerId);
        if (!before) return;
        // In the window's own measure: to ask where the frame is would lay the page out at every move.
        const now = { x: event.clientX, y: event.clientY };
        const [x, y] = [now.x - before.x, now.y - before.y];
        // A click that trembles is a click.
        if (!touched.current && Math.hypot(x, y) < 3) return;
        touched.current = true;
        // Captured only now: a captured click would not reach the node under it.
        event.currentTarget.setPointerCapture(event.pointerId);
        const other = [...fingers.current].find(([id]) => id !== event.pointerId)?.[1];
        fingers.current.set(event.pointerId, now);
        if (other) {
          const factor = distance(now, other) / Math.max(1, distance(before, other));
          const middle = place({ clientX: (now.x + other.x) / 2, clientY: (now.y + other.y) / 2 });
          show(zoomAt(view.current, factor, middle));
        } else show({ ...view.current, x: view.current.x + x, y: view.current.y + y });
      },
      onPointerUp: drop,
      onPointerCancel: drop,
      onKeyDown(event) {
        const step = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[
          event.key
        ];
        if (step) {
          touched.current = true;
          show({ ...view.current, x: view.current.x + step[0]!, y: view.current.y + step[1]! });
        } else if (event.key === "+" || event.key === "=") zoom(1.2);
        else if (event.key === "-") zoom(1 / 1.2);
        else if (event.key === "0") showAll();
        else return;
        event.preventDefault();
      },
    },
  };
}

const distance = (one: { x: number; y: number }, other: { x: number; y: number }) =>
  Math.hypot(one.x - other.x, one.y - other.y);

/** Whether the page around it scrolls: then the wheel is the page's. */
function isInScrolledPage(element: Element): boolean {
  for (let around = element.parentElement; around; around = around.parentElement) {
    const scrolls =
      around === document.scrollingElement || /auto|scroll/.test(getComputedStyle(around).overflowY);
    if (scrolls && around.scrollHeight > around.clientHeight + 1) return true;
  }
  return false;
}
