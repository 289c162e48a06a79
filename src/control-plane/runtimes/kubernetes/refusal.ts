import { AppError } from "../../../platform/errors.ts";

/** What the API server says instead of an answer; `reason` is one of its own fixed words. */
export type KubernetesStatus = { status: number; reason: string; message: string };

/** The API server's refusal of one call. Too many calls and its own troubles pass; the rest stays as it is. */
export class KubernetesRefusal extends AppError {
  readonly status: number;
  readonly reason: string;
  /** In the API server's words. */
  readonly words: string;

  constructor({ method, path }: { method: string; path: string }, given: KubernetesStatus) {
    super({
      code: "runtime.kubernetes_refused",
      kind: "unavailable",
      retryable: given.status === 429 || given.status >= 500,
      message: `Kubernetes refused ${method} ${path} (${given.status}): ${given.message}`,
    });
    this.status = given.status;
    this.reason = given.reason;
    this.words = given.message;
  }

  /** What was known of the cluster is too old to go on from. */
  get isExpired(): boolean {
    return this.status === 410 || this.reason === "Expired" || this.reason === "Gone";
  }
}

/** From the body of a refusal, or from an event of a watch. */
export function readStatus(status: number, text: string): KubernetesStatus {
  try {
    const given = JSON.parse(text) as { message?: unknown; reason?: unknown; code?: unknown } | null;
    return {
      status: typeof given?.code === "number" ? given.code : status,
      reason: typeof given?.reason === "string" ? given.reason : "",
      message: typeof given?.message === "string" ? given.message.slice(0, 2_000) : `status ${status}`,
    };
  } catch {
    // A proxy in between has its own pages.
    return { status, reason: "", message: text.trim().slice(0, 500) || `status ${status}` };
  }
}
