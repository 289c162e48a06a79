/** Which part of a drawing is seen: where its corner is, and how large it is. */
export type View = { x: number; y: number; scale: number };
type Size = { width: number; height: number };

const limits = { least: 0.1, most: 3, fitted: 1.1, legible: 0.45 };
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
