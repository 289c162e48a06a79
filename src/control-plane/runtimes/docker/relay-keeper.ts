import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../../../platform/errors.ts";
import { KeyedLock } from "../../../platform/keyed-lock.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { DeploymentNetwork } from "./network.ts";
import { Relay, type RelayTargets } from "./relay.ts";

export type RelayKeeperOptions = {
  logger: Logger;
  targets(): RelayTargets;
  find(network: string): Promise<DeploymentNetwork | null>;
};

const retryMs = 1_000;
/** Time for the previous owner to release the addresses. */
const patienceMs = 10_000;

/** One relay per network while a server in it is watched here; another process of the platform may take over. */
export class RelayKeeper {
  readonly #options: RelayKeeperOptions;
  readonly #relays = new Map<string, Relay>();
  readonly #holders = new Map<string, number>();
  readonly #turns = new KeyedLock();

  constructor(options: RelayKeeperOptions) {
    this.#options = options;
  }

  /** Waits a while for the previous owner of the addresses. */
  async open(network: DeploymentNetwork): Promise<void> {
    const untilMs = performance.now() + patienceMs;
    for (;;) {
      try {
        return await this.#openNow(network);
      } catch (error) {
        const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
        if (!taken || performance.now() >= untilMs) throw error;
        await delay(retryMs / 4);
      }
    }
  }

  close(name: string): Promise<void> {
    return this.#turns.run(name, async () => {
      await this.#relays.get(name)?.close();
      this.#relays.delete(name);
    });
  }

  /** Keeps the relay open until it is released, or until the watch is given up. */
  hold(name: string, signal: AbortSignal): () => void {
    this.#holders.set(name, (this.#holders.get(name) ?? 0) + 1);
    let held = true;
    const release = () => {
      if (!held) return;
      held = false;
      signal.removeEventListener("abort", release);
      const left = (this.#holders.get(name) ?? 1) - 1;
      if (left > 0) this.#holders.set(name, left);
      else {
        this.#holders.delete(name);
        void this.close(name);
      }
    };
    signal.addEventListener("abort", release, { once: true });
    if (signal.aborted) release();
    else void this.#insist(name, signal);
    return release;
  }

  #openNow(network: DeploymentNetwork): Promise<void> {
    const { targets, logger } = this.#options;
    return this.#turns.run(network.name, async () => {
      if (this.#relays.has(network.name)) return;
      this.#relays.set(network.name, await Relay.open(network, targets(), logger));
    });
  }

  /** The process that had the addresses before may not be gone yet. */
  async #insist(name: string, signal: AbortSignal): Promise<void> {
    const { find, logger } = this.#options;
    for (let warned = false; !signal.aborted; ) {
      try {
        const network = await find(name);
        if (network && (this.#holders.get(name) ?? 0) > 0) await this.#openNow(network);
        return;
      } catch (error) {
        if (!warned) logger.warn({ network: name, reason: errorMessage(error) }, "a relay is not open yet");
        warned = true;
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }
}
