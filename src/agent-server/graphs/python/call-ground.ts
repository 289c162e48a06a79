import { AppError } from "../../../platform/errors.ts";
import type { Fence, StoredCheckpoint } from "../../checkpoints/checkpoint.ts";
import type { CheckpointStore } from "../../checkpoints/checkpoint-store.ts";
import type { ItemService } from "../../store/item-service.ts";
import type { Meta } from "./call-stream.ts";
import type { CarriedValues } from "./carried-values.ts";

/** What Python may ask of the server while it works on one of the server's calls. */
export type CallGround = {
  checkpoints: CheckpointStore;
  /** The long-term store of a workspace; none without an active run. */
  store?: { items: ItemService; workspaceId: string };
  /** Writes are refused once another attempt has the run. */
  fence?: Fence;
  /** Throws once the run is not ours any more. */
  requireHeld?: () => void;
  /** Checkpoints that were read already, newest first. */
  read?: readonly StoredCheckpoint[][] | undefined;
  /** Values of those that Python may leave unread. */
  carried?: CarriedValues | undefined;
  /** Follows a checkpoint on its way to the database. */
  noteWrite?: <T>(write: Promise<T>) => Promise<T>;
};

/** The grounds of the open calls, by number. */
export class CallGrounds {
  readonly #byCall = new Map<number, CallGround>();

  add(call: number, ground: CallGround): void {
    this.#byCall.set(call, ground);
  }

  remove(call: number): void {
    this.#byCall.delete(call);
  }

  /** Throws for a call that has ended: code that works for it must stop. */
  of({ for: call }: Meta): CallGround {
    const ground = this.#byCall.get(Number(call));
    if (ground) return ground;
    throw new AppError({
      code: "run.lease_lost",
      kind: "conflict",
      message: `Call ${String(call)} has ended; further work for it is refused.`,
    });
  }
}
