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
 * is heard of an endpoint, it is tried whether its machine still takes connections. Runs only while there are requests.
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
    const busy = [...this.#options.ways()].filter(({ count }) => count > 0);
    if (busy.length === 0) return this.stop();
    this.#isLooking = true;
    try {
      await Promise.all(busy.map((way) => this.#lookAt(way)));
    } finally {
      this.#isLooking = false;
    }
  }

  async #lookAt(way: EndpointWay): Promise<void> {
    const { cut, isSilent: ask = isAway } = this.#options;
    const { isHeard, endpoint } = way;
    way.isHeard = false;
    const silent = !isHeard && (await ask(endpoint));
    const silences = silent ? (this.#silences.get(way) ?? 0) + 1 : 0;
    this.#silences.set(way, silences % silencesUntilCut);
    if (silences === silencesUntilCut) cut(way);
  }
}

const isAway = async (endpoint: ServerEndpoint) => !isHere(endpoint) && (await isSilent(endpoint, connectMs));
