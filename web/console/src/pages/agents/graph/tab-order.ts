/**
 * Where the Tab key leads, if that has to do with the toolbar of the chosen node: it comes right after its node. The drawing
 * is one element, so the toolbar cannot stand there in the page. Undefined: where the browser leads.
 */
export function stepInto<Stop>(given: {
  /** In the order in which the browser goes through them. */
  nodes: readonly Stop[];
  bar: readonly Stop[];
  tools: readonly Stop[];
  selected: Stop | undefined;
  current: Stop;
  isBack: boolean;
}): Stop | undefined {
  const { nodes, bar, tools, selected, current, isBack } = given;
  const stops = [...nodes.flatMap((node) => (node === selected ? [node, ...bar] : [node])), ...tools];
  const at = stops.indexOf(current);
  if (at < 0) return undefined;
  const next = stops[at + (isBack ? -1 : 1)];
  return next !== undefined && (bar.includes(current) || bar.includes(next)) ? next : undefined;
}
