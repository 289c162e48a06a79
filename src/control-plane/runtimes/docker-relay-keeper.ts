import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../../platform/errors.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import type { Logger } from "../../platform/logger.ts";
import type { DeploymentNetwork } from "./docker-network.ts";
import { openRelay, type Relay, type RelayTargets } from "./docker-relay.ts";

export type RelayKeeperOptions = {
  logger: Logger;
  targets(): RelayTargets;
  find(network: string): Promise<DeploymentNetwork | null>;
};

const retryMs = 1_000;
/** For whoever had the addresses before to let go of them. */
const patienceMs = 10_000;

/** One relay per network while a server in it is watched here; another process of the platform may take over. */
export function createRelayKeeper({ logger, targets, find }: RelayKeeperOptions) {
  const relays = new Map<string, Relay>();
  const holders = new Map<string, number>();
  const turns = new KeyedLock();

  const open = (network: DeploymentNetwork) =>
    turns.run(network.name, async () => {
      if (!relays.has(network.name)) relays.set(network.name, await openRelay(network, targets(), logger));
    });

  async function openPatiently(network: DeploymentNetwork): Promise<void> {
    const untilMs = performance.now() + patienceMs;
    for (;;) {
      try {
        return await open(network);
      } catch (error) {
        const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
        if (!taken || performance.now() >= untilMs) throw error;
        await delay(retryMs / 4);
      }
    }
  }

  const close = (name: string) =>
    turns.run(name, async () => {
      await relays.get(name)?.close();
      relays.delete(name);
    });

  /** The process that had the addresses before may not be gone yet. */
  async function insist(name: string, signal: AbortSignal): Promise<void> {
    for (let warned = false; !signal.aborted; ) {
      try {
        const network = await find(name);
        if (network && (holders.get(name) ?? 0) > 0) await open(network);
        return;
      } catch (error) {
        if (!warned) logger.warn({ network: name, reason: errorMessage(error) }, "a relay is not open yet");
        warned = true;
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  return {
    open: openPatiently,
    close,
    /** Keeps the relay open until it is released, or until the watch is given up. */
    hold(name: string, signal: AbortSignal): () => void {
      holders.set(name, (holders.get(name) ?? 0) + 1);
      let held = true;
      const release = () => {
        if (!held) return;
        held = false;
        signal.removeEventListener("abort", release);
        const left = (holders.get(name) ?? 1) - 1;
        if (left > 0) holders.set(name, left);
        else {
          holders.delete(name);
          void close(name);
        }
      };
      signal.addEventListener("abort", release, { once: true });
      if (signal.aborted) release();
      else void insist(name, signal);
      return release;
    },
  };
}
