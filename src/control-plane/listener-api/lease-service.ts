import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { type Listener, leaseMs } from "../listeners/listener.ts";
import { requireOwnKey } from "../listeners/listener-key-service.ts";
import { knownListener } from "../listeners/listener-routes.ts";
import { endLease, findListener, lockListener, renewLease, saveLease } from "../listeners/listener-store.ts";
import type { Lease, LeaseRequest } from "./listener-wire.ts";

export type ListenerLeasesOptions = { database: Database; clock: Clock };

/** One process at a time acts for a listener. Its epoch fences off those that had the lease before. */
export class ListenerLeases {
  readonly #options: ListenerLeasesOptions;

  constructor(options: ListenerLeasesOptions) {
    this.#options = options;
  }

  async take(caller: Caller, id: string, asked: LeaseRequest): Promise<Lease> {
    const { database, clock } = this.#options;
    return database.transaction(async (tx) => {
      const listener = await lockListener(tx, caller.workspaceId, id);
      const known = knownListener(listener, { listener_id: id });
      await requireOwnKey(tx, caller, known.id);
      const now = clock.now();
      refuseOthers(known, asked, now);
      const { place, holder, version, runtime, url } = asked;
      const until = new Date(now.getTime() + leaseMs);
      const process = { version, runtime, url };
      const taken = await saveLease(tx, id, { place, holder, process, until }, now);
      return {
        epoch: taken.lease_epoch,
        lease_seconds: leaseMs / 1000,
        event_cursor: taken.event_cursor,
        log_cursor: taken.log_cursor,
        metrics_until: taken.metrics_until?.toISOString() ?? null,
      };
    });
  }

  /** Part of a transaction that only the holder of that epoch may commit. */
  async require(tx: Sql, caller: Caller, id: string, epoch: number): Promise<Listener> {
    const now = this.#options.clock.now();
    const of = { workspaceId: caller.workspaceId, id, epoch, apiKeyId: caller.apiKeyId ?? null };
    const renewed = await renewLease(tx, of, new Date(now.getTime() + leaseMs), now);
    const known =
      renewed ?? knownListener(await findListener(tx, caller.workspaceId, id), { listener_id: id });
    // An epoch is a small number that anybody guesses: whose listener it is, the key says.
    if (renewed?.key_listener_id !== known.id) await requireOwnKey(tx, caller, known.id);
    if (renewed) return renewed;
    throw new AppError({
      code: "listener.lease_lost",
      kind: "conflict",
      message: "Another process has the lease on this listener now. Take it again with POST …/lease.",
    });
  }

  async end(caller: Caller, id: string, epoch: number): Promise<void> {
    const { database, clock } = this.#options;
    const of = { workspaceId: caller.workspaceId, id, epoch };
    await database.transaction(async (tx) => {
      await this.require(tx, caller, id, epoch);
      await endLease(tx, of, clock.now());
    });
  }
}

function whereIs({ process }: Listener): string {
  return process ? ` (version ${process.version}, it serves at ${process.url})` : "";
}

function refuseOthers(listener: Listener, asked: LeaseRequest, now: Date): void {
  const { place, holder, leased_until: until, compute_id: name } = listener;
  const isLive = until !== null && until > now;
  if (isLive && holder !== asked.holder) {
    throw new AppError({
      code: "listener.held",
      kind: "conflict",
      message: `Another process acts for the listener ${name}${whereIs(listener)}. It was heard of at ${listener.seen_at?.toISOString()}. Stop that one and this one takes over at once, or a minute after it has gone. --take-over takes nothing from a process that is alive: for a second place make a second listener.`,
      headers: { "retry-after": "10" },
    });
  }
  if (place !== null && place !== asked.place && !asked.take_over) {
    throw new AppError({
      code: "listener.other_place",
      kind: "conflict",
      message: `The deployments of the listener ${name} are in another database. Start the listener with that one. To begin anew in this one, start it once with --take-over: the deployments are built again, and their data stays where it was.`,
    });
  }
}
