import { setTimeout as delay, setImmediate } from "node:timers/promises";
import type { ReconnectResult, ResultData, SubscribeResult } from "@langchain/protocol";
import type { Database } from "../../platform/db/database.ts";
import { type CommandEnvelope, readCommand } from "../../platform/streaming-protocol/command.ts";
import { errorEnvelope, ProtocolError } from "../../platform/streaming-protocol/protocol-error.ts";
import type { EventFilter } from "../../platform/streaming-protocol/subscription-filter.ts";
import { type LogEnd, logEndOf } from "../delivery/event-store.ts";
import { toWireText } from "../delivery/protocol-event.ts";
import type { ThreadEvent } from "../delivery/thread-event.ts";
import { flattenTree } from "./agent-tree.ts";
import { type CommandParams, readParams } from "./commands.ts";
import { type EventReader, selectEvents } from "./event-reader.ts";
import { gapEnvelope } from "./protocol-error.ts";
import type { ProtocolService } from "./protocol-service.ts";
import { countEventsAfter } from "./protocol-store.ts";
import type { CommandContext } from "./run-commands.ts";
import { filterOfId, toSubscriptionId } from "./subscription-id.ts";
import type { ThreadAccess } from "./thread-access.ts";

export type ProtocolConnectionOptions = {
  database: Database;
  service: ProtocolService;
  reader: EventReader;
  access: ThreadAccess;
  context: CommandContext;
  /** Resolves when there is room for more. */
  send(text: string): Promise<void>;
  /** Fires when the connection is gone. */
  signal: AbortSignal;
  /** Ends a connection that cannot send any more; the client reconnects and asks for what it missed. */
  close(): void;
};

type Subscription = { id: string; filter: EventFilter; since: number };

/** More subscriptions than this at once, or longer ones, keep the client waiting instead of filling memory. */
const maxAsked = 16;
const maxAskedLength = 16_384;
/** Clients send several subscriptions at once, in messages of their own. */
const gatherMs = 30;

/**
 * One connection that carries commands, answers and events. Everything that is sent goes through one line of
 * work: an answer precedes the replay it announces, and live events never overtake a replay.
 */
export class ProtocolConnection {
  readonly #options: ProtocolConnectionOptions;
  readonly #filters = new Map<string, EventFilter>();
  #line: Promise<void> = Promise.resolve();
  #nextNumber = 1;
  /** How far the log was read for live events; undefined before the first subscription. */
  #cursor: LogEnd | undefined;
  /** Set by a reconnect: what the client has already processed is not replayed again. */
  #floor = 0;
  /** Not yet answered. */
  readonly #asked: CommandEnvelope[] = [];
  #subscribing: Promise<void> = Promise.resolve();

  constructor(options: ProtocolConnectionOptions) {
    this.#options = options;
  }

  /** One message of the client. Never rejects because of its content. */
  async receive(text: string): Promise<void> {
    const read = readCommand(text);
    if ("refusal" in read) {
      await this.#queue(() => this.#answer(read.refusal));
      return;
    }
    const { command } = read;
    const { method } = command;
    if (method === "subscription.subscribe") {
      this.#asked.push(command);
      this.#subscribing = this.#queue(() => this.#subscribeAsked());
      // Not waiting for it lets the next command in, which may be one more to be replayed together with it.
      if (this.#asked.length < maxAsked && text.length < maxAskedLength) return;
    }
    await this.#subscribing;
    if (method === "subscription.subscribe") return;
    if (method.startsWith("subscription.")) {
      await this.#queue(() => this.#subscription(command));
      return;
    }
    const answer = await this.#options.service.execute(this.#options.context, command);
    await this.#queue(() => this.#answer(answer));
  }

  async #subscription(command: CommandEnvelope): Promise<void> {
    const { id, method, params } = command;
    try {
      switch (method) {
        case "subscription.unsubscribe":
          return await this.#unsubscribe(id, readParams(method, params));
        case "subscription.reconnect":
          return await this.#reconnect(id, readParams(method, params));
        default:
          throw new ProtocolError("unknown_command", `There is no command ${method.slice(0, 60)}.`);
      }
    } catch (thrown) {
      if (this.#options.signal.aborted) return;
      await this.#answer(errorEnvelope(id, this.#options.service.toError(thrown, method)));
    }
  }

  /**
   * Subscriptions asked for in one go are replayed in one go, in the order of the log. A client that gets the
   * ends of runs in one of them and their events in another would otherwise get the end first, and stop listening.
   */
  async #subscribeAsked(): Promise<void> {
    const accepted: Subscription[] = [];
    try {
      await this.#acceptAsked(accepted);
      if (accepted.length === 0) return;
      // The rest may be on its way: the end of a run would be told before it.
      if (this.#filters.size === 0 && accepted.every(isOfEndsAlone)) {
        await delay(gatherMs, undefined, { signal: this.#options.signal });
        // What has arrived meanwhile is read first, also when this process stood still.
        await setImmediate();
        await this.#acceptAsked(accepted);
      }
      const since = Math.min(...accepted.map((subscription) => subscription.since));
      for await (const page of this.#replay(since, this.#cursor?.seq ?? 0)) {
        await this.#send(page.filter((event) => accepted.some((one) => isReplayedTo(one, event))));
      }
      for (const { id, filter } of accepted) this.#filters.set(id, filter);
    } catch (thrown) {
      await this.#fail(thrown);
    }
  }

  async #acceptAsked(accepted: Subscription[]): Promise<void> {
    for (let command = this.#asked.shift(); command; command = this.#asked.shift()) {
      const subscription = await this.#accept(command);
      if (subscription) accepted.push(subscription);
    }
  }

  /** Answers; undefined when that is an error. */
  async #accept({ id, method, params: given }: CommandEnvelope): Promise<Subscription | undefined> {
    const { access, context, service, signal } = this.#options;
    try {
      const params = readParams("subscription.subscribe", given);
      const thread = await access.open(context.caller, context.threadId);
      const through = await this.#startLive(thread !== undefined);
      const filter: EventFilter = {
        channels: params.channels,
        ...(params.namespaces ? { namespaces: params.namespaces } : {}),
        ...(params.depth === undefined || params.depth === null ? {} : { depth: params.depth }),
      };
      const since = params.since ?? this.#floor;
      const subscriptionId = toSubscriptionId(this.#nextNumber++, filter);
      const result: SubscribeResult = {
        subscription_id: subscriptionId,
        replayed_events: await this.#count(filter, since, through.seq),
      };
      await this.#succeed(id, result, through.protocol);
      const prunedSeq = thread?.pruned_protocol_seq ?? 0;
      if (since > 0 && since < prunedSeq) await this.#answer(gapEnvelope(since, prunedSeq));
      return { id: subscriptionId, filter, since };
    } catch (thrown) {
      if (!signal.aborted) await this.#answer(errorEnvelope(id, service.toError(thrown, method)));
      return undefined;
    }
  }

  async #unsubscribe(id: number, params: CommandParams<"subscription.unsubscribe">): Promise<void> {
    if (!this.#filters.delete(params.subscription_id)) throw noSuchSubscription(params.subscription_id);
    await this.#succeed(id, {}, this.#cursor?.protocol ?? 0);
  }

  /** Goes on where a dropped connection stopped, with the subscriptions it had. */
  async #reconnect(id: number, params: CommandParams<"subscription.reconnect">): Promise<void> {
    const { access, context, database, service } = this.#options;
    const since = readEventId(params.last_event_id);
    const run = await service.findRun(context, params.run_id);
    const thread = await access.open(context.caller, context.threadId);
    const restored = (params.subscriptions ?? []).map((subscriptionId) => {
      const filter = filterOfId(subscriptionId);
      if (!filter) throw noSuchSubscription(subscriptionId);
      return [subscriptionId, filter] as const;
    });
    const through = await this.#startLive(thread !== undefined);
    const result: ReconnectResult = {
      restored: since >= (thread?.pruned_protocol_seq ?? 0),
      missed_events: await countEventsAfter(database, context.threadId, run.run_id, since),
      current_namespaces: flattenTree(await service.tree(context, run.run_id)),
    };
    await this.#succeed(id, result, through.protocol);
    this.#floor = since;
    const filters = restored.map(([, filter]) => filter);
    if (filters.length > 0) {
      for await (const page of this.#replay(since, through.seq))
        await this.#send(selectEvents(page, filters));
    }
    for (const [subscriptionId, filter] of restored) this.#filters.set(subscriptionId, filter);
  }

  /** Live events begin with the first subscription. Returns how far the log reaches before them. */
  async #startLive(admitted: boolean): Promise<LogEnd> {
    if (this.#cursor !== undefined) return this.#cursor;
    const { database, context, reader, signal } = this.#options;
    if (!admitted) {
      const release = await reader.expect(context.threadId);
      if (signal.aborted) release();
      else signal.addEventListener("abort", release, { once: true });
    }
    const cursor = await logEndOf(database, context.threadId);
    this.#cursor = cursor;
    void this.#follow(cursor.seq, admitted);
    return cursor;
  }

  async #follow(afterSeq: number, admitted: boolean): Promise<void> {
    const { reader, context, signal } = this.#options;
    const from = { threadId: context.threadId, afterSeq, admitted };
    try {
      for await (const { events, seq } of reader.follow(context.caller, from, signal)) {
        // Waiting here is the back-pressure: the log is read no further than the client keeps up.
        await this.#queue(async () => {
          await this.#send(selectEvents(events, [...this.#filters.values()]));
          this.#cursor = { seq, protocol: events.at(-1)?.number ?? this.#cursor?.protocol ?? 0 };
        });
      }
    } catch (thrown) {
      await this.#fail(thrown);
    }
  }

  /** Of no use to the client any more: events would be missing. */
  async #fail(thrown: unknown): Promise<void> {
    const { service, signal, close } = this.#options;
    if (signal.aborted) return;
    await this.#answer(errorEnvelope(null, service.toError(thrown, "subscription.subscribe")));
    close();
  }

  #replay(since: number, through: number): AsyncGenerator<ThreadEvent[]> {
    return this.#options.reader.replay(this.#options.context.threadId, since, through);
  }

  async #count(filter: EventFilter, since: number, through: number): Promise<number> {
    let count = 0;
    for await (const page of this.#replay(since, through)) count += selectEvents(page, [filter]).length;
    return count;
  }

  async #send(events: readonly ThreadEvent[]): Promise<void> {
    for (const event of events) await this.#options.send(toWireText(event));
  }

  #succeed(id: number, result: ResultData, seq: number): Promise<void> {
    const meta = { thread_id: this.#options.context.threadId, applied_through_seq: seq };
    return this.#answer({ type: "success", id, result, meta });
  }

  #answer(answer: object): Promise<void> {
    return this.#options.send(JSON.stringify(answer));
  }

  /** After what is already waiting to be sent; a connection that is gone ends the line. */
  #queue(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#options;
    const done = this.#line.then(async () => {
      if (signal.aborted) return;
      try {
        await work();
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    });
    // The caller gets the failure from `done`; the work queued behind it must run all the same.
    this.#line = done.catch(() => undefined);
    return done;
  }
}

const isOfEndsAlone = ({ filter }: Subscription) =>
  filter.channels.every((channel) => channel === "lifecycle" || channel === "input");

function isReplayedTo({ filter, since }: Subscription, event: ThreadEvent): boolean {
  return event.number > since && selectEvents([event], [filter]).length > 0;
}

function readEventId(text: string | null | undefined): number {
  if (text === undefined || text === null) return 0;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new ProtocolError("invalid_argument", "last_event_id is the event_id of an event: a decimal number.");
}

function noSuchSubscription(id: string): ProtocolError {
  return new ProtocolError(
    "no_such_subscription",
    `There is no subscription ${id.slice(0, 60)} on this connection.`,
  );
}
