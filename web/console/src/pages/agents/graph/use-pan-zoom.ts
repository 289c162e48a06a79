import { type KeyboardEvent, type PointerEvent, type RefObject, useEffect, useRef } from "react";
import { fitView, type View, zoomAt } from "./view.ts";

type Size = { width: number; height: number };

/**
 * Moves what is drawn by changing one attribute: React draws nothing while one drags. The wheel zooms with Ctrl, or where
 * the page itself cannot scroll; two fingers do on a screen one touches.
 */
export function usePanZoom(content: Size): {
  frame: RefObject<SVGSVGElement | null>;
  layer: RefObject<SVGGElement | null>;
  events: {
    onPointerDown(event: PointerEvent<SVGSVGElement>): void;
    onPointerMove(event: PointerEvent<SVGSVGElement>): void;
    onPointerUp(event: PointerEvent<SVGSVGElement>): void;
    onPointerCancel(event: PointerEvent<SVGSVGElement>): void;
    onKeyDown(event: KeyboardEvent<SVGSVGElement>): void;
  };
  zoom(factor: number): void;
  showAll(): void;
} {
  const frame = useRef<SVGSVGElement>(null);
  const layer = useRef<SVGGElement>(null);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  const fingers = useRef(new Map<number, { x: number; y: number }>());
  const touched = useRef(false);
  const { width, height } = content;

  const show = (next: View) => {
    view.current = next;
    layer.current?.setAttribute("transform", `translate(${next.x} ${next.y}) scale(${next.scale})`);
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
    // Until somebody moves it, it stays fitted to its frame.
    const watch = new ResizeObserver(() => {
      if (!touched.current) showFitted(true);
    });
    watch.observe(element);
    // React listens to the wheel passively: there the page would scroll as well.
    const wheel = (event: WheelEvent) => {
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
