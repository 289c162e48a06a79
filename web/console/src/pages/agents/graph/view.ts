/** Which part of a drawing is seen: where its corner is, and how large it is. */
export type View = { x: number; y: number; scale: number };
type Size = { width: number; height: number };

const limits = { least: 0.1, most: 3, fitted: 1.1, legible: 0.8 };
const margin = 16;

/** All of it, in the middle, and not larger than is pleasant; `legible`: its beginning, where all of it is too small to read. */
export function fitView(content: Size, frame: Size, { legible = false }: { legible?: boolean } = {}): View {
  const room = { width: frame.width - 2 * margin, height: frame.height - 2 * margin };
  const whole = Math.min(room.width / Math.max(1, content.width), room.height / Math.max(1, content.height));
  const scale = Math.max(legible ? limits.legible : limits.least, Math.min(whole, limits.fitted));
  return {
    x: (frame.width - content.width * scale) / 2,
    y: Math.max(margin, (frame.height - content.height * scale) / 2),
    scale,
  };
}

/** Larger or smaller; what is at that point stays there. */
export function zoomAt(view: View, factor: number, at: { x: number; y: number }): View {
  const scale = Math.max(limits.least, Math.min(limits.most, view.scale * factor));
  const real = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * real, y: at.y - (at.y - view.y) * real };
}

/** Moved only as far as it must be for a part of the drawing to be seen. */
export function revealed(view: View, part: Size & { x: number; y: number }, frame: Size): View {
  const place = (now: number, from: number, length: number, room: number) => {
    const least = margin - from * view.scale;
    const most = room - margin - (from + length) * view.scale;
    return Math.max(least, Math.min(most, now));
  };
  return {
    scale: view.scale,
    x: place(view.x, part.x, part.width, frame.width),
    y: place(view.y, part.y, part.height, frame.height),
  };
}
