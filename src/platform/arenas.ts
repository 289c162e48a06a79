/**
 * How many places the C library keeps memory in, for a server that is started with it: it has no need to begin again, as
 * others do (`bin/allocator.js`, which also takes it back). Nothing where somebody chose already: that is not taken back.
 */
export function arenasBeside(chosen: Readonly<Record<string, unknown>>): Record<string, string> {
  return chosen.MALLOC_ARENA_MAX === undefined ? { MALLOC_ARENA_MAX: "2", TREADLE_ARENAS: "2" } : {};
}
