/** What becomes of runs that did not finish before a stop. */
export const whatNext = "runs go on from their last checkpoint at the next start";
