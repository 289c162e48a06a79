import { type Config, workerRoles } from "../config/index.ts";

/** Which worker process it is, and where the server is that started it. */
export type WorkerPlace = {
  /** From 1 on. */
  number: number;
  count: number;
  databaseUrl: string;
  publicUrl: string;
  internalUrl: string;
};

/**
 * The settings of one worker process: those of its server, with the same data folder, whose lock that one holds, and with its part of the runs
 * and exports that may go on at once. It listens nowhere.
 */
export function workerConfigOf(config: Config, place: WorkerPlace): Config {
  const { databaseUrl, publicUrl, internalUrl } = place;
  const partitionsAtOnce = shareOf(config.exports.partitionsAtOnce, place);
  return {
    ...config,
    ...{ databaseUrl, publicUrl, internalUrl },
    roles: workerRoles.filter((role) => role !== "export" || partitionsAtOnce > 0),
    runConcurrency: shareOf(config.runConcurrency, place),
    exports: { ...config.exports, partitionsAtOnce },
  };
}

/** The first ones get what does not come out even. */
export function shareOf(total: number, { number, count }: Pick<WorkerPlace, "number" | "count">): number {
  return Math.floor(total / count) + (number <= total % count ? 1 : 0);
}

/** Besides the pool of a process: for notifications, and for work that needs a connection of its own. */
const moreConnections = 2;

/**
 * How many worker processes a database with `most` connections bears, and how many connections `count` of them need
 * with their server. At most half of them all: deployed servers and other programs need some.
 */
export function fitConnections(given: { most: number; poolSize: number; count: number }) {
  const each = given.poolSize + moreConnections;
  return {
    fitting: Math.max(0, Math.floor(given.most / 2 / each) - 1),
    needed: (given.count + 1) * each,
  };
}
