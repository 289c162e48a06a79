import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

export const metricPrefix = "lg_api_";

export type RequestObserver = (method: string, status: number, ms: number) => void;

/** The part the HTTP layer needs. */
export type HttpMetrics = { requestObserver(route: string): RequestObserver };

/** All figures of one process. */
export type MetricFigures = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>;
/** Those of another process, with the labels that tell them apart from this one's. */
export type OtherFigures = { labels: Record<string, string>; figures: MetricFigures };

export type PoolStats = { total: number; idle: number; waiting: number };

const latencyBucketsMs = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000];

/** A registry of its own: two servers in one process, as in tests, do not share numbers. */
export class Metrics implements HttpMetrics {
  readonly #registry = new Registry();
  readonly #registers = [this.#registry];
  /** From the first request for metrics on: they sample the event loop a hundred times a second. */
  #watchesProcess: boolean;
  readonly #requests: Counter<"method" | "path" | "status">;
  readonly #latency: Histogram<"method" | "path">;
  #readOthers: (() => Promise<OtherFigures[]>) | undefined;

  constructor({ processMetrics = true }: { processMetrics?: boolean } = {}) {
    this.#watchesProcess = !processMetrics;
    this.#requests = new Counter({
      name: `${metricPrefix}http_requests_total`,
      help: "HTTP requests answered, by method, route and status.",
      labelNames: ["method", "path", "status"],
      registers: this.#registers,
    });
    this.#latency = new Histogram({
      name: `${metricPrefix}http_requests_latency`,
      help: "Time from request to the last byte of the answer, in milliseconds.",
      labelNames: ["method", "path"],
      buckets: latencyBucketsMs,
      registers: this.#registers,
    });
  }

  requestObserver(path: string): RequestObserver {
    // Hashing the labels is the costly part, so it is done once per method and status.
    const counters = new Map<string, Counter.Internal>();
    const latencies = new Map<string, Histogram.Internal<"method" | "path">>();
    return (method, status, ms) => {
      const name = knownMethods.has(method) ? method : "OTHER";
      const key = `${name} ${status}`;
      let counter = counters.get(key);
      if (!counter) {
        counter = this.#requests.labels(name, path, String(status));
        counters.set(key, counter);
      }
      counter.inc();
      let histogram = latencies.get(name);
      if (!histogram) {
        histogram = this.#latency.labels(name, path);
        latencies.set(name, histogram);
      }
      histogram.observe(ms);
    };
  }

  /** A value that is read on request. The name is given without the prefix. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void {
    new Gauge({
      name: `${metricPrefix}${name}`,
      help,
      registers: this.#registers,
      async collect() {
        this.set(await read());
      },
    });
  }

  counter(name: string, help: string, labelNames: readonly string[] = []): Counter<string> {
    return new Counter({
      name: `${metricPrefix}${name}`,
      help,
      labelNames: [...labelNames],
      registers: this.#registers,
    });
  }

  histogram(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly string[] = [],
  ): Histogram<string> {
    return new Histogram({
      name: `${metricPrefix}${name}`,
      help,
      buckets,
      labelNames: [...labelNames],
      registers: this.#registers,
    });
  }

  poolGauges(read: () => PoolStats): void {
    this.gauge("pg_pool_size", "Database connections open now.", () => read().total);
    this.gauge("pg_pool_idle", "Database connections open and not in use.", () => read().idle);
    this.gauge("pg_pool_waiting", "Requests waiting for a database connection.", () => read().waiting);
  }

  /** Figures of other processes that are shown with those of this one. */
  include(readOthers: () => Promise<OtherFigures[]>): void {
    this.#readOthers = readOthers;
  }

  /** Those of this process alone. */
  figures(): Promise<MetricFigures> {
    return this.#watched().getMetricsAsJSON();
  }

  /** The Prometheus text form, or the same values as JSON. */
  async render(format: "prometheus" | "json"): Promise<{ contentType: string; body: string }> {
    const registry = this.#readOthers ? await this.#merged(await this.#readOthers()) : this.#watched();
    if (format === "json") {
      return {
        contentType: "application/json",
        body: JSON.stringify(await registry.getMetricsAsJSON()),
      };
    }
    return { contentType: registry.contentType, body: await registry.metrics() };
  }

  #watched(): Registry {
    if (!this.#watchesProcess) collectDefaultMetrics({ register: this.#registry, prefix: metricPrefix });
    this.#watchesProcess = true;
    return this.#registry;
  }

  async #merged(others: readonly OtherFigures[]): Promise<Registry> {
    const own = { labels: {}, figures: await this.figures() };
    // No two have the same labels, so that each sum is of one figure.
    const lists = [own, ...others].map(({ labels, figures }) =>
      figures.map((metric) => ({
        ...metric,
        aggregator: "sum",
        values: metric.values.map((value) => ({ ...value, labels: { ...value.labels, ...labels } })),
      })),
    );
    return AggregatorRegistry.aggregate(lists);
  }
}

/** A caller may send any word as method; a label must not grow without bound. */
const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
