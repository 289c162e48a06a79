import { randomUUID } from "node:crypto";
import http from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { percentile } from "./load.ts";

/**
 * The listeners of `streaming.ts`, in a process of their own: what delays the server must not delay the clock that
 * measures it. Takes a job as JSON, prints what it received as JSON.
 */
export type ListenJob = {
  port: number;
  streams: number;
  /** Words of each stream, and the milliseconds between two of them. */
  count: number;
  every: number;
  /** The runs begin evenly over this time; 0 begins all of them in the same instant. */
  spreadMs: number;
};

export type Heard = {
  lost: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  seconds: number;
  /** How late this process itself was to its own timers: what of the figures above is not the server's. */
  ownLagP99Ms: number;
  ownCpuMs: number;
};

type Frame = {
  method: string;
  params: { namespace: string[]; data: { event?: string; payload?: { at: number } } };
};

const clock = () => performance.timeOrigin + performance.now();

class Listener {
  readonly late: number[] = [];
  readonly #threadId = randomUUID();
  readonly #job: ListenJob;
  readonly #agent: http.Agent;
  readonly #ended = Promise.withResolvers<void>();
  #rest = "";
  #events: http.ClientRequest | undefined;

  constructor(job: ListenJob, agent: http.Agent) {
    this.#job = job;
    this.#agent = agent;
  }

  /** The thread is made and listened to before anything runs on it, so that no word is a replay. */
  async open(): Promise<void> {
    await this.#post("/threads", { thread_id: this.#threadId });
    const answered = Promise.withResolvers<void>();
    const body = { channels: ["custom", "lifecycle"] };
    this.#events = this.#request(`/threads/${this.#threadId}/stream/events`, body, (response) => {
      answered.resolve();
      response.on("data", (text: string) => this.#hear(text));
      response.on("end", () => this.#ended.reject(new Error("The stream of events ended early.")));
    });
    this.#events.on("error", this.#ended.reject);
    // A server may keep back the headers until the first event.
    await Promise.race([answered.promise, delay(1_000)]);
  }

  async follow(): Promise<void> {
    const { count, every } = this.#job;
    const params = { assistant_id: "ticker", input: { count, every } };
    await this.#post(`/threads/${this.#threadId}/commands`, { id: 1, method: "run.start", params });
    await this.#ended.promise;
    this.#events?.destroy();
  }

  #hear(text: string): void {
    const now = clock();
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    for (const line of lines) {
      if (!line.startsWith("data:")) continue;
      const { method, params } = JSON.parse(line.slice(5)) as Frame;
      if (method === "custom") this.late.push(now - params.data.payload!.at);
      const { event } = params.data;
      if (method !== "lifecycle" || params.namespace.length > 0) continue;
      if (event === "completed") this.#ended.resolve();
      else if (event === "failed") this.#ended.reject(new Error("A run failed."));
    }
  }

  #post(path: string, body: object): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const request = this.#request(path, body, (response) => {
      let all = "";
      response.on("data", (text: string) => {
        all += text;
      });
      response.on("end", () => {
        const failed = response.statusCode !== 200 || all.includes('"type":"error"');
        if (failed) reject(new Error(`${path}: ${response.statusCode} ${all.slice(0, 200)}`));
        else resolve();
      });
    });
    request.on("error", reject);
    return promise;
  }

  #request(path: string, body: object, onResponse: (response: http.IncomingMessage) => void) {
    const data = JSON.stringify(body);
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(data) };
    const target = {
      host: "127.0.0.1",
      port: this.#job.port,
      method: "POST",
      path,
      agent: this.#agent,
      headers,
    };
    const request = http.request(target, (response) => {
      response.setEncoding("utf8");
      onResponse(response);
    });
    request.end(data);
    return request;
  }
}

async function listen(job: ListenJob): Promise<Heard> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 2_000 });
  const listeners = Array.from({ length: job.streams }, () => new Listener(job, agent));
  await Promise.all(listeners.map((listener) => listener.open()));
  const lag = monitorEventLoopDelay({ resolution: 1 });
  const cpu = process.cpuUsage();
  const began = performance.now();
  lag.enable();
  await Promise.all(
    listeners.map(async (listener, index) => {
      if (job.spreadMs > 0) await delay((job.spreadMs * index) / job.streams);
      await listener.follow();
    }),
  );
  lag.disable();
  const used = process.cpuUsage(cpu);
  const late = listeners.flatMap((listener) => listener.late).toSorted((a, b) => a - b);
  agent.destroy();
  return {
    lost: job.streams * job.count - late.length,
    p50Ms: percentile(late, 50),
    p99Ms: percentile(late, 99),
    maxMs: late.at(-1) ?? 0,
    seconds: (performance.now() - began) / 1000,
    // The histogram counts the interval itself too.
    ownLagP99Ms: Math.max(0, lag.percentile(99) / 1e6 - 1),
    ownCpuMs: (used.user + used.system) / 1000,
  };
}

console.log(JSON.stringify(await listen(JSON.parse(process.argv[2]!) as ListenJob)));
