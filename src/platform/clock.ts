/** Time as a port, so that rules about time can be tested without waiting. */
export type Clock = {
  now(): Date;
};

export const systemClock: Clock = { now: () => new Date() };
