import { AppError, invalidField } from "../../platform/errors.ts";
import type { CheckpointRef } from "../graphs/graph-call.ts";
import type { LibraryTracing } from "../graphs/library-tracing.ts";
import type { RunRequest } from "./run-request.ts";

/** What a server must have for some of what a run may ask for. */
export type RunPreconditions = {
  /** How far a run may choose its tracing; undefined where runs are not traced. */
  tracing: LibraryTracing | undefined;
  /** There are links for feedback on runs. */
  givesFeedback: boolean;
  hasCheckpoint(threadId: string, checkpointNs: string, checkpointId: string): Promise<boolean>;
};

/** A field that could have no effect is refused. */
export function requireTracing(
  { givesFeedback, tracing }: Pick<RunPreconditions, "tracing" | "givesFeedback">,
  { feedback_keys: keys, tracing_project: project, tracing_example: example }: RunRequest,
): void {
  if (keys?.length && !givesFeedback) {
    throw invalidField(
      ["body", "feedback_keys"],
      "there is no tracing service here that accepts feedback: set LANGSMITH_ENDPOINT and LANGSMITH_API_KEY, or leave feedback_keys out",
    );
  }
  if ((project || example) && !tracing) {
    throw invalidField(
      ["body", "langsmith_tracer"],
      "this server does not trace its runs: start it with LANGSMITH_TRACING=true, LANGSMITH_ENDPOINT and LANGSMITH_API_KEY, or leave langsmith_tracer out",
    );
  }
  const only = tracing?.onlyProject;
  if (project && only !== undefined && project !== only) {
    throw invalidField(
      ["body", "langsmith_tracer", "project_name"],
      `a deployment is traced to its own project, "${only}": leave project_name out`,
    );
  }
}

/** From a checkpoint that is not there the library would begin with nothing, and hide what the thread holds. */
export async function requireCheckpoint(
  { hasCheckpoint }: Pick<RunPreconditions, "hasCheckpoint">,
  threadId: string | null,
  { checkpoint, config }: RunRequest,
): Promise<void> {
  const inConfig = config?.configurable as CheckpointRef | undefined;
  const { checkpoint_id: id, checkpoint_ns: ns } = checkpoint?.checkpoint_id ? checkpoint : (inConfig ?? {});
  if (!id) return;
  if (threadId !== null && (await hasCheckpoint(threadId, ns ?? "", String(id)))) return;
  const place = threadId ? ` on thread ${threadId}` : ": a new thread has none";
  throw new AppError({
    code: "checkpoint.not_found",
    kind: "not_found",
    message: `Checkpoint ${String(id).slice(0, 100)} not found${place}.`,
  });
}
