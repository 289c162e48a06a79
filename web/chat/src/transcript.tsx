import type { AnyStream } from "@langchain/react";
import { CopyButton } from "./copy-button.tsx";
import { Icon } from "./icons.tsx";
import type { Branches, Versions } from "./message-branches.ts";
import { HumanMessage } from "./parts/human-message.tsx";
import { Parts } from "./parts/parts.tsx";
import type { Activity } from "./parts/tool-call.tsx";
import type { Turn } from "./turns.ts";

export type AnswerLinks = { studio: string; trace(runId: string): string };

export type TranscriptProps = {
  turns: Turn[];
  activity: Activity;
  stream: AnyStream | undefined;
  /** Undefined where nothing can be changed. */
  onBranch: ((messageId: string, text: string) => void) | undefined;
  /** Answers a message of the person again. */
  onRegenerate: ((messageId: string) => void) | undefined;
  /** Shows another version of a message, by the checkpoint it ended at. */
  onSwitch: ((checkpointId: string) => void) | undefined;
  branches: Branches | undefined;
  /** Pages that tell more about an answer. */
  links: AnswerLinks | undefined;
  editing: string | undefined;
  onEditing(messageId: string | undefined): void;
};

export function Transcript(props: TranscriptProps) {
  const { turns, activity, stream, onBranch, onSwitch, branches, editing, onEditing } = props;
  const last = turns.at(-1);
  return (
    <ol className="transcript" aria-label="Conversation">
      {turns.map((turn, at) =>
        turn.kind === "human" ? (
          <li key={turn.id} className="turn from-human">
            <h3 className="hidden">You said</h3>
            <HumanMessage
              text={turn.text}
              files={turn.files}
              versions={<VersionSwitch versions={branches?.versions.get(turn.id)} onSwitch={onSwitch} />}
              editing={editing === turn.id}
              onEdit={onBranch && ((on) => onEditing(on ? turn.id : undefined))}
              onBranch={(text) => onBranch?.(turn.id, text)}
            />
          </li>
        ) : (
          <li key={turn.id} className="turn from-assistant">
            <h3 className="hidden">The assistant answered</h3>
            <div className="strand">
              <Parts parts={turn.parts} activity={turn === last ? activity : "idle"} stream={stream} />
              {turn === last && activity === "running" && <Working parts={turn.parts.length} />}
            </div>
            {(turn !== last || activity === "idle") && (
              <AnswerTools {...props} turn={turn} before={turns[at - 1]} />
            )}
          </li>
        ),
      )}
      {last?.kind === "human" && activity === "running" && (
        <li className="turn from-assistant">
          <div className="strand">
            <Working parts={0} />
          </div>
        </li>
      )}
    </ol>
  );
}

function Working({ parts }: { parts: number }) {
  return (
    <div className="part working" aria-hidden="true">
      <span className="weave">
        <i />
        <i />
        <i />
      </span>
      {parts === 0 && <span>Starting</span>}
    </div>
  );
}

function AnswerTools(
  props: TranscriptProps & { turn: Extract<Turn, { kind: "assistant" }>; before: Turn | undefined },
) {
  const { turn, before, branches, links, onRegenerate, onSwitch } = props;
  const text = spoken(turn);
  const runId = branches?.runs.get(turn.lastId);
  return (
    <div className="answer-tools">
      <VersionSwitch versions={branches?.versions.get(turn.id)} onSwitch={onSwitch} />
      {text !== "" && <CopyButton text={() => text} label="Copy answer" />}
      {onRegenerate && before?.kind === "human" && (
        <button type="button" className="quiet small" onClick={() => onRegenerate(before.id)}>
          <Icon name="again" />
          <span>Regenerate</span>
        </button>
      )}
      {links && runId && (
        <a className="button quiet small" href={links.trace(runId)} target="_blank" rel="noreferrer">
          <Icon name="trace" />
          <span>Open trace</span>
        </a>
      )}
      {links && (
        <a className="button quiet small" href={links.studio} target="_blank" rel="noreferrer">
          <Icon name="graph" />
          <span>Open in studio</span>
        </a>
      )}
    </div>
  );
}

/** ‹2/3›: another version of what was said, or answered, here. */
function VersionSwitch({
  versions,
  onSwitch,
}: {
  versions: Versions | undefined;
  onSwitch: ((checkpointId: string) => void) | undefined;
}) {
  if (!versions) return null;
  const { at, checkpoints } = versions;
  const step = (to: number, label: string, icon: "back" | "chevron") => (
    <button
      type="button"
      className="quiet small"
      aria-label={label}
      disabled={!onSwitch || checkpoints[to] === undefined}
      onClick={() => checkpoints[to] !== undefined && onSwitch?.(checkpoints[to])}
    >
      <Icon name={icon} />
    </button>
  );
  return (
    <fieldset className="versions">
      <legend className="hidden">Versions</legend>
      {step(at - 1, "Previous version", "back")}
      <span>
        {at + 1}/{checkpoints.length}
      </span>
      {step(at + 1, "Next version", "chevron")}
    </fieldset>
  );
}

function spoken(turn: Extract<Turn, { kind: "assistant" }>): string {
  return turn.parts
    .map((part) => (part.kind === "text" ? part.text : ""))
    .join("\n\n")
    .trim();
}
