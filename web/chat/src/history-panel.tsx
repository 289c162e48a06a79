import { useCallback, useEffect, useState } from "react";
import { branchOf, describeStep } from "./checkpoints.ts";
import { Icon } from "./icons.tsx";
import type { ChatServer, Checkpoint } from "./servers/chat-server.ts";

const pageSize = 20;

export type HistoryPanelProps = {
  server: ChatServer;
  threadId: string;
  /** Changes when the thread went on: the list is read again. */
  version: string;
  selected: string | undefined;
  onSelect(checkpoint: Checkpoint | undefined): void;
  onClose(): void;
};

/** Every step the thread ever took, also those on branches that were left. */
export function HistoryPanel({ server, threadId, version, selected, onSelect, onClose }: HistoryPanelProps) {
  const [steps, setSteps] = useState<Checkpoint[]>();
  const [more, setMore] = useState(false);
  const [problem, setProblem] = useState<string>();

  const load = useCallback(
    async (before?: string) => {
      try {
        const page = await server.listCheckpoints(threadId, {
          limit: pageSize,
          ...(before ? { before } : {}),
        });
        setSteps((now) => (before ? [...(now ?? []), ...page] : page));
        setMore(page.length === pageSize);
        setProblem(undefined);
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error));
      }
    },
    [server, threadId],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version means there is more to read.
  useEffect(() => void load(), [load, version]);

  const branch = branchOf(steps ?? []);
  return (
    <aside className="panel" aria-label="History">
      <header>
        <h2>History</h2>
        <button type="button" className="quiet" onClick={onClose} aria-label="Close the history">
          <Icon name="cross" />
        </button>
      </header>
      {problem && <p className="panel-note">{problem}</p>}
      {!steps && !problem && <p className="panel-note">Reading…</p>}
      <ol className="steps">
        {steps?.filter(isWorthShowing).map((step, at) => {
          const { title, detail } = describeStep(step);
          const id = step.checkpoint.checkpoint_id;
          const isNow = at === 0;
          return (
            <li key={id} className={branch.has(id) ? undefined : "other-branch"}>
              <button
                type="button"
                aria-current={id === selected || (isNow && !selected) ? "step" : undefined}
                onClick={() => onSelect(isNow ? undefined : step)}
              >
                <span className="step-title">
                  {title}
                  <span className="step-meta">{isNow ? "now" : timeOf(step.created_at)}</span>
                </span>
                <span className="step-detail">{detail}</span>
                {!branch.has(id) && <span className="step-meta">on another branch</span>}
              </button>
            </li>
          );
        })}
      </ol>
      {more && (
        <button
          type="button"
          className="more"
          onClick={() => void load(steps?.at(-1)?.checkpoint.checkpoint_id)}
        >
          Earlier steps
        </button>
      )}
    </aside>
  );
}

/** A step that only took the input in shows nothing the next one does not. */
function isWorthShowing(step: Checkpoint): boolean {
  return step.metadata.source !== "input" || step.parent_checkpoint === null;
}

function timeOf(at: string | null): string {
  return at === null
    ? ""
    : new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}
