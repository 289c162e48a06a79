/** What an ERROR frame carries. */
export type RemoteFailure = {
  /** The class of the exception. */
  type: string;
  message: string;
  code?: string;
  status?: number;
  detail?: unknown;
  headers?: unknown;
  traceback?: string;
  file?: string;
  line?: number;
  package?: string;
};

/** An exception of the other side, under its own name, so that the run it failed is reported with it. */
export class RemoteError extends Error {
  readonly failure: RemoteFailure;

  constructor(failure: RemoteFailure) {
    super(failure.message);
    this.name = failure.type;
    this.failure = failure;
    // Where it was thrown there says more than where it arrived here.
    if (failure.traceback) this.stack = failure.traceback;
  }

  /** An HTTP status, where the exception stated one. */
  get status(): number | undefined {
    return this.failure.status;
  }

  get headers(): unknown {
    const { headers } = this.failure;
    return Array.isArray(headers) ? Object.fromEntries(headers as [string, string][]) : headers;
  }
}

export function toRemoteError(meta: Record<string, unknown>): RemoteError {
  const { type, message } = meta;
  return new RemoteError({
    ...(meta as Partial<RemoteFailure>),
    type: typeof type === "string" && type !== "" ? type : "Error",
    message: typeof message === "string" ? message : "",
  });
}
