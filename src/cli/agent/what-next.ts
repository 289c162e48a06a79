/** What becomes of runs that did not finish before a stop. */
export const whatNext = "runs resume from their last checkpoint at the next start";
