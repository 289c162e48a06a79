import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

export const metricPrefix = "lg_api_";

export type RequestObserver = (method: string, status: number, ms: number) => void;

/** The part the HTTP layer needs. */
export type HttpMetrics = { requestObserver(route: string): RequestObserver };

export type PoolStats = { total: number; idle: number; waiting: number };

export type Metrics = HttpMetrics & {
  /** A value read when somebody asks. The name is given without the prefix. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void;
  counter(name: string, help: string, labels?: readonly string[]): Counter<string>;
  histogram(name: string, help: string, buckets: number[], labels?: readonly string[]): Histogram<string>;
  poolGauges(read: () => PoolStats): void;
  /** The Prometheus text form, or the same values as JSON. */
  render(format: "prometheus" | "json"): Promise<{ contentType: string; body: string }>;
};

const latencyBucketsMs = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000];

/** A registry of its own: two servers in one process, as in tests, do not share numbers. */
export function createMetrics(options: { processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  // From the first time somebody asks: they watch the event loop a hundred times a second.
  let watchesProcess = options.processMetrics === false;
  const requests = new Counter({
    name: `${metricPrefix}http_requests_total`,
    help: "HTTP requests answered, by method, route and status.",
    labelNames: ["method", "path", "status"],
    registers,
  });
  const latency = new Histogram({
    name: `${metricPrefix}http_requests_latency`,
    help: "Time from request to the last byte of the answer, in milliseconds.",
    labelNames: ["method", "path"],
    buckets: latencyBucketsMs,
    registers,
  });
  const gauge: Metrics["gauge"] = (name, help, read) => {
    new Gauge({
      name: `${metricPrefix}${name}`,
      help,
      registers,
      async collect() {
        this.set(await read());
      },
    });
  };
  return {
    requestObserver(path) {
      // Hashing the labels is the costly part, so it is done once per method and status.
      const counters = new Map<string, Counter.Internal>();
      const latencies = new Map<string, Histogram.Internal<"method" | "path">>();
      return (method, status, ms) => {
        const name = knownMethods.has(method) ? method : "OTHER";
        const key = `${name} ${status}`;
        let counter = counters.get(key);
        if (!counter) {
          counter = requests.labels(name, path, String(status));
          counters.set(key, counter);
        }
        counter.inc();
        let histogram = latencies.get(name);
        if (!histogram) {
          histogram = latency.labels(name, path);
          latencies.set(name, histogram);
        }
        histogram.observe(ms);
      };
    },
    gauge,
    counter: (name, help, labelNames = []) =>
      new Counter({ name: `${metricPrefix}${name}`, help, labelNames: [...labelNames], registers }),
    histogram: (name, help, buckets, labelNames = []) =>
      new Histogram({
        name: `${metricPrefix}${name}`,
        help,
        buckets,
        labelNames: [...labelNames],
        registers,
      }),
    poolGauges(read) {
      gauge("pg_pool_size", "Database connections open now.", () => read().total);
      gauge("pg_pool_idle", "Database connections open and not in use.", () => read().idle);
      gauge("pg_pool_waiting", "Requests waiting for a database connection.", () => read().waiting);
    },
    async render(format) {
      if (!watchesProcess) collectDefaultMetrics({ register: registry, prefix: metricPrefix });
      watchesProcess = true;
      if (format === "json") {
        return { contentType: "application/json", body: JSON.stringify(await registry.getMetricsAsJSON()) };
      }
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}

/** A caller may send any word as method; a label must not grow without bound. */
const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
