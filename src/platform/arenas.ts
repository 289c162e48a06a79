/**
 * How many places the C library keeps memory in, for a server that is started with it: it has no need to begin again, as
 * others do (`bin/allocator.js`, which also takes it back).
 */
export const fewArenas = { MALLOC_ARENA_MAX: "2", TREADLE_ARENAS: "2" };
