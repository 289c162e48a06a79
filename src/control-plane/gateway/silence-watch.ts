import { isSilent } from "../endpoints/silence.ts";
import type { EndpointWay } from "./endpoint-ways.ts";
import type { ServerEndpoint } from "./target.ts";

export type SilenceWatchOptions = {
  ways(): Iterable<EndpointWay>;
  /** Ends what waits for it. */
  cut(way: EndpointWay): void;
  everyMs?: number;
  isSilent?(endpoint: ServerEndpoint): Promise<boolean>;
};

const connectMs = 1_000;
/** In a row: less may be a moment of a busy network. */
const silencesUntilCut = 3;
/** On this machine a connection ends with its process. */
const isHere = ({ host }: ServerEndpoint) => host.startsWith("127.") || host === "::1";

/**
 * Ends requests to endpoints whose machine is gone. Nobody says so when packets are lost: a request on a connection that was open before
 * would wait for a quarter of an hour, and an answer may rightly take hours. So while requests are under way and nothing
 * is heard of an endpoint, it is tried whether its machine still answers. Runs only while there are requests.
 */
export class SilenceWatch {
  readonly #options: SilenceWatchOptions;
  readonly #silences = new WeakMap<EndpointWay, number>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(options: SilenceWatchOptions) {
    this.#options = options;
  }

  /** There is a request. */
  begin(): void {
    if (this.#timer) return;
    this.#timer = setInterval(() => void this.#look(), this.#options.everyMs ?? 3_000);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    const ways = [...this.#options.ways()];
    if (!ways.some(isBusy)) return this.stop();
    this.#isLooking = true;
    try {
      await this.#lookAt(ways);
    } finally {
      this.#isLooking = false;
    }
  }

  async #lookAt(ways: readonly EndpointWay[]): Promise<void> {
    const { isSilent: ask = isAway } = this.#options;
    const heard = ways.filter(({ isHeard }) => isHeard);
    const asked = ways.filter((way) => !way.isHeard && isBusy(way));
    for (const way of heard) way.isHeard = false;
    const answers = await Promise.all(asked.map(({ endpoint }) => ask(endpoint)));
    const silent = new Set(asked.filter(({ isHeard }, index) => answers[index] && !isHeard));
    const others = [...heard, ...asked].filter((way) => !silent.has(way));
    // All of several at once, and nothing from any other machine: that is rather our own network.
    if (silent.size > 1 && others.every(({ endpoint }) => isHere(endpoint))) return;
    for (const way of others) this.#silences.delete(way);
    for (const way of silent) this.#count(way);
  }

  #count(way: EndpointWay): void {
    const silences = (this.#silences.get(way) ?? 0) + 1;
    this.#silences.set(way, silences % silencesUntilCut);
    if (silences === silencesUntilCut) this.#options.cut(way);
  }
}

const isBusy = ({ count }: EndpointWay) => count > 0;
const isAway = async (endpoint: ServerEndpoint) => !isHere(endpoint) && (await isSilent(endpoint, connectMs));
