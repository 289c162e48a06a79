import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { SseFrame } from "../../platform/http/server/sse.ts";
import { isOpen } from "../desired-state/revision.ts";
import { listEvents } from "../desired-state/revision-store.ts";
import type { LogKind } from "../logs/log.ts";
import type { LogReader } from "../logs/log-reader.ts";
import type { RevisionService } from "./revision-service.ts";
import { toEventWire, toRevisionWire } from "./revision-wire.ts";

const pollMs = 250;
const batch = 500;

/** Where a reader is: the last timeline entry, build line and server line seen. */
type Place = { event: number; build: number; deploy: number };

type FollowedRevision = { deploymentId: string; revisionId: string };

/** A revision's progress as server-sent events; a reader that reconnects continues where it stopped. */
export class RevisionFeed {
  readonly #database: Database;
  readonly #logs: LogReader;
  readonly #service: RevisionService;

  constructor({
    database,
    logs,
    service,
  }: {
    database: Database;
    logs: LogReader;
    service: RevisionService;
  }) {
    this.#database = database;
    this.#logs = logs;
    this.#service = service;
  }

  async *follow(
    caller: Caller,
    { deploymentId, revisionId }: FollowedRevision,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<SseFrame[]> {
    const place = readPlace(lastEventId);
    let shown = "";
    for (;;) {
      // Read before the lines: what a done revision has written by then is all there is.
      const view = await this.#service.get(caller, deploymentId, revisionId);
      const frames = [
        ...(await this.#timeline(revisionId, place)),
        ...(await this.#lines({ deploymentId, revisionId }, "build", place, signal)),
        ...(await this.#lines({ deploymentId, revisionId }, "deploy", place, signal)),
      ];
      const state = `${view.revision.status} ${view.revision.progress} ${view.revision.status_message}`;
      if (state !== shown) {
        shown = state;
        frames.push({ event: "status", data: JSON.stringify(toRevisionWire(view)), id: idOf(place) });
      }
      if (frames.length > 0) yield frames;
      else if (!isOpen(view.revision.status)) return;
      else await delay(pollMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
    }
  }

  async #timeline(revisionId: string, place: Place): Promise<SseFrame[]> {
    const events = await listEvents(this.#database.sql, [revisionId], place.event);
    return events.map((event) => {
      place.event = event.id;
      return { event: "event", data: JSON.stringify(toEventWire(event)), id: idOf(place) };
    });
  }

  async #lines(of: FollowedRevision, kind: LogKind, place: Place, signal: AbortSignal): Promise<SseFrame[]> {
    const asked = { ...of, kind, order: "asc", limit: batch, after: place[kind] } as const;
    const { rows } = await this.#logs.read(asked, signal);
    return rows.map((row) => {
      place[kind] = row.id;
      const { id, level, message } = row;
      const data = JSON.stringify({ id, type: kind, timestamp: row.at.toISOString(), level, message });
      return { event: "log", data, id: idOf(place) };
    });
  }
}

function idOf(place: Place): string {
  return `${place.event}-${place.build}-${place.deploy}`;
}

function readPlace(text: string | undefined): Place {
  const [, event, build, deploy] = /^(\d{1,15})-(\d{1,15})-(\d{1,15})$/.exec(text ?? "") ?? [];
  return { event: Number(event ?? 0), build: Number(build ?? 0), deploy: Number(deploy ?? 0) };
}
