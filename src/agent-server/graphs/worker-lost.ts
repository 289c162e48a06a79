import { AppError } from "../../platform/errors.ts";

/** The process that ran the graph is gone, before the run's end: another attempt goes on from the last checkpoint. */
export class WorkerLost extends AppError {
  /** Other runs were in it, so that any of them may have ended it. */
  readonly isShared: boolean;

  constructor(options: { message: string; isShared: boolean; cause?: unknown }) {
    const { message, cause } = options;
    super({ code: "graph.worker_lost", kind: "unavailable", message, cause });
    this.isShared = options.isShared;
  }
}
