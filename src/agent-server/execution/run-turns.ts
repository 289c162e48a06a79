/**
 * Runs that wait are announced to all processes, and dealt to those that take runs: if all asked at once, each would
 * get a few of what came together, and a batch of many costs hardly more than one of few.
 */
export function isTurnOf(processId: string, turn: number, takers: readonly string[]): boolean {
  // Not known to the others yet: it is dealt nothing, and may ask at any time.
  if (!takers.includes(processId)) return true;
  return takers[turn % takers.length] === processId;
}
