import type { AuditEvent } from "./audit.ts";

export type BudgetLimits = {
  windowMs: number;
  /** Rows a window of one workspace, or of what belongs to none. */
  perWorkspace: number;
  /** Of those, rows of one address and key for one thing. */
  perSource: number;
  /** Workspaces remembered in a window; those on top share one room. */
  maxWorkspaces: number;
};

export const defaultBudget: BudgetLimits = {
  windowMs: 60_000,
  perWorkspace: 60,
  perSource: 5,
  maxWorkspaces: 1_000,
};

type Count = { rows: number; left: number; last: AuditEvent };
type Room = Count & { sources: Map<string, Count> };

/**
 * What a flood of refusals may write. The first of each source are rows of their own; the others are counted, and the
 * count is one row at the window's end. One workspace's flood takes nothing of another's room.
 */
export class RefusalBudget {
  readonly #limits: BudgetLimits;
  readonly #rooms = new Map<string, Room>();

  constructor(limits: BudgetLimits = defaultBudget) {
    this.#limits = limits;
  }

  /** Whether the event is written as its own entry; otherwise it has only been counted. */
  admit(event: AuditEvent): boolean {
    const room = this.#roomOf(event);
    // A source is remembered only while there are rows left, so there are never more of them than rows.
    if (room.rows >= this.#limits.perWorkspace) return leaveOut(room, event);
    const who = event.api_key_id ?? event.user_id ?? event.address;
    const name = [who, event.action, event.error_code].join(" ");
    const source = room.sources.get(name) ?? { rows: 0, left: 0, last: event };
    room.sources.set(name, source);
    if (source.rows >= this.#limits.perSource) return leaveOut(source, event);
    source.rows += 1;
    room.rows += 1;
    return true;
  }

  /** Ends the window: the last event of each source that was cut short, with how many were left out. */
  close(): { last: AuditEvent; left: number; of: "source" | "workspace" }[] {
    const counted = [...this.#rooms.values()].flatMap((room) => [
      ...[...room.sources.values()].map(({ last, left }) => ({ last, left, of: "source" as const })),
      { last: room.last, left: room.left, of: "workspace" as const },
    ]);
    this.#rooms.clear();
    return counted.filter(({ left }) => left > 0);
  }

  #roomOf(event: AuditEvent): Room {
    const place = event.workspace_id ?? "none";
    const name = this.#rooms.has(place) || this.#rooms.size < this.#limits.maxWorkspaces ? place : "others";
    const room = this.#rooms.get(name) ?? { rows: 0, left: 0, last: event, sources: new Map() };
    this.#rooms.set(name, room);
    return room;
  }
}

function leaveOut(count: Count, event: AuditEvent): false {
  count.left += 1;
  count.last = event;
  return false;
}
