import { ErrorLine, Skeleton } from "../../../ui/index.ts";
import { type AgentServer, type ThreadState, useThreadState } from "../agent-api.ts";
import { ChangeList } from "./change-list.tsx";
import { diffState, writersOf } from "./state-diff.ts";

export type StepDiffProps = { server: AgentServer; threadId: string; state: ThreadState };

/** What the step that led to this checkpoint changed, and which node did. */
export function StepDiff({ server, threadId, state }: StepDiffProps) {
  const parentId = state.parent_checkpoint?.checkpoint_id;
  const parent = useThreadState(server, threadId, parentId ?? null, { enabled: parentId !== undefined });
  if (parentId !== undefined && parent.error && !parent.data) return <ErrorLine error={parent.error} />;
  if (parentId !== undefined && !parent.data) return <Skeleton lines={2} height="1.2rem" />;
  const before = parentId === undefined ? undefined : parent.data;
  const changes = diffState(before?.values ?? {}, state.values);
  if (changes.length === 0) return <p className="muted step-diff">Nothing in the state changed.</p>;
  const byHand = state.metadata?.source === "update" || state.metadata?.source === "fork";
  return (
    <ChangeList
      changes={changes}
      by={(channel) => (byHand ? ["hand"] : writersOf(before?.tasks ?? [], channel))}
    />
  );
}
