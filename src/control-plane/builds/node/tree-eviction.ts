/** One that is kept on this machine, and how long it was not used. */
export type KeptTree = { key: string; bytes: number; idleMs: number; isInUse: boolean };

export type TreeLimits = {
  maxBytes: number;
  maxTrees: number;
  maxIdleMs: number;
  /** So much of the disk is left to everything else. */
  freeBytes: number;
};

/** Those to remove, longest unused first, for one more of so many bytes (0: for none), and whether it fits then. Never what is in use. */
export function treesBeyond(
  kept: readonly KeptTree[],
  limits: TreeLimits,
  { bytes, freeBytes }: { bytes: number; freeBytes: number },
): { remove: string[]; fits: boolean } {
  const total = kept.reduce((sum, tree) => sum + tree.bytes, 0);
  let excessBytes = Math.max(total + bytes - limits.maxBytes, limits.freeBytes + bytes - freeBytes);
  let excessTrees = kept.length + (bytes > 0 ? 1 : 0) - limits.maxTrees;
  const remove: string[] = [];
  const idle = kept.filter(({ isInUse }) => !isInUse).toSorted((a, b) => b.idleMs - a.idleMs);
  for (const tree of idle) {
    if (excessBytes <= 0 && excessTrees <= 0 && tree.idleMs <= limits.maxIdleMs) break;
    remove.push(tree.key);
    excessBytes -= tree.bytes;
    excessTrees -= 1;
  }
  return { remove, fits: excessBytes <= 0 && excessTrees <= 0 };
}
