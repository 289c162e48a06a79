import type { WorkerPlace } from "../../../app/worker-config.ts";
import type { FromWorker, ToWorker } from "../../../app/worker-messages.ts";
import { AppError } from "../../../platform/errors.ts";
import type { MetricFigures } from "../../../platform/metrics.ts";

type Settings = Extract<ToWorker, { kind: "settings" }>;

/** The pipe to the server that started this process. */
export class ServerChannel {
  readonly #settings = Promise.withResolvers<Settings>();
  readonly #place = Promise.withResolvers<WorkerPlace>();
  #readFigures: (() => Promise<MetricFigures>) | undefined;

  constructor() {
    if (!process.send) throw startedAlone();
    process.on("message", (message) => this.#receive(message as ToWorker));
    // It keeps this process alive while it waits for its settings.
    process.channel?.ref();
  }

  /** The first thing the server sends. */
  get settings(): Promise<Settings> {
    return this.#settings.promise;
  }

  /** Sent once the server is ready for this process to work. */
  get place(): Promise<WorkerPlace> {
    return this.#place.promise;
  }

  get isOpen(): boolean {
    return process.connected;
  }

  onClose(act: () => void): void {
    if (this.isOpen) process.once("disconnect", act);
    else act();
  }

  answerMetrics(readFigures: () => Promise<MetricFigures>): void {
    this.#readFigures = readFigures;
  }

  /** Resolves when it is on its way, or the server is gone. */
  send(message: FromWorker): Promise<void> {
    return new Promise((resolve) => {
      if (this.isOpen) process.send?.(message, undefined, undefined, () => resolve());
      else resolve();
    });
  }

  #receive(message: ToWorker): void {
    if (message.kind === "settings") this.#settings.resolve(message);
    else if (message.kind === "begin") this.#place.resolve(message.place);
    else void this.#tellFigures(message.id);
  }

  /** One that cannot be read is no reason to end: the server leaves these figures out. */
  async #tellFigures(id: number): Promise<void> {
    const figures = await this.#readFigures?.().catch(() => undefined);
    if (figures) await this.send({ kind: "metrics", id, figures });
  }
}

function startedAlone(): AppError {
  return new AppError({
    code: "client.worker_alone",
    kind: "invalid",
    message:
      "`treadle worker` is started by `treadle up` alone. Run `treadle up` with TREADLE_WORKERS, or `treadle up --roles worker` for a process of its own.",
  });
}
