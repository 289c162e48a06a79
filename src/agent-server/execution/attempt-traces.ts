import type { Logger } from "../../platform/logger.ts";
import type { TracedSpan } from "../graphs/graph-runtime.ts";
import { type Environment, tracingSetting } from "../graphs/library-tracing.ts";
import type { ClaimedRun, RunOutcome } from "../runs/run.ts";
import { endedAttemptSpan, exhaustedSpans, resumedSpans } from "./attempt-spans.ts";

const timeoutMs = 10_000;

type Service = { endpoint: string; apiKey: string; project: string };

/** The tracing service that the environment names; undefined where it names none. */
export function tracingService(environment: Environment): Service | undefined {
  const setting = (name: string) => tracingSetting(environment, name);
  const [endpoint, apiKey] = [setting("ENDPOINT"), setting("API_KEY")];
  if (!endpoint || !apiKey) return undefined;
  return { endpoint: endpoint.replace(/\/+$/, ""), apiKey, project: setting("PROJECT") ?? "default" };
}

/**
 * The attempts of runs that the graph library traces. The library does not know about attempts, so the server sends
 * them to the tracing service. Runs with one attempt, nearly all, send nothing. Sending is not awaited, and its failure
 * fails no run.
 */
export class AttemptTraces {
  readonly #service: Service;
  readonly #logger: Logger;
  /** One after another: an end never overtakes its beginning. */
  #sent: Promise<void> = Promise.resolve();
  readonly #began = new WeakMap<ClaimedRun, Date>();

  constructor(service: Service, logger: Logger) {
    this.#service = service;
    this.#logger = logger;
  }

  began(run: ClaimedRun): void {
    if (run.attempt === 1) return;
    const now = new Date();
    this.#began.set(run, now);
    this.#send(run, { post: resumedSpans(run, now) });
  }

  ended(run: ClaimedRun, outcome: RunOutcome): void {
    const began = this.#began.get(run);
    if (began) this.#send(run, { patch: [endedAttemptSpan(run, began, outcome, new Date())] });
  }

  exhausted(run: ClaimedRun, outcome: RunOutcome): void {
    const [root, attempt] = exhaustedSpans(run, outcome, new Date());
    // The library announced the run itself: only its end is missing.
    const { id, trace_id, end_time, error } = root!;
    this.#send(run, { post: [attempt!], patch: [{ id, trace_id, end_time, error }] });
  }

  #send(run: ClaimedRun, { post = [], patch = [] }: { post?: TracedSpan[]; patch?: TracedSpan[] }): void {
    const project = run.kwargs.tracing_project ?? this.#service.project;
    const inProject = (span: TracedSpan) => ({ ...span, session_name: project });
    const body = JSON.stringify({ post: post.map(inProject), patch: patch.map(inProject) });
    this.#sent = this.#sent.then(() =>
      this.#post(body).catch((error: unknown) =>
        this.#logger.warn({ runId: run.run_id, err: error }, "the attempts of this run are not in its trace"),
      ),
    );
  }

  async #post(body: string): Promise<void> {
    const { endpoint, apiKey } = this.#service;
    const response = await fetch(`${endpoint}/runs/batch`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": apiKey },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.text();
    if (!response.ok)
      throw new Error(`The tracing service answered ${response.status}: ${text.slice(0, 500)}`);
  }
}
