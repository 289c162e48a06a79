import { AppError } from "../../platform/errors.ts";

/** The process that ran the graph died before the run ended: another attempt continues from the last checkpoint. */
export class WorkerLost extends AppError {
  /** Other runs were in it, so that any of them may have ended it. */
  readonly isShared: boolean;

  constructor(options: { message: string; isShared: boolean; cause?: unknown }) {
    const { message, cause } = options;
    super({ code: "graph.worker_lost", kind: "unavailable", message, cause });
    this.isShared = options.isShared;
  }
}
