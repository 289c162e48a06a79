import type { AnyStream } from "@langchain/react";
import { CopyButton } from "./markdown.tsx";
import { HumanMessage } from "./parts/human-message.tsx";
import { Parts } from "./parts/parts.tsx";
import type { Activity } from "./parts/tool-call.tsx";
import type { Turn } from "./turns.ts";

export type TranscriptProps = {
  turns: Turn[];
  activity: Activity;
  stream: AnyStream | undefined;
  /** Undefined where nothing can be changed. */
  onBranch: ((messageId: string, text: string) => void) | undefined;
  editing: string | undefined;
  onEditing(messageId: string | undefined): void;
};

export function Transcript({ turns, activity, stream, onBranch, editing, onEditing }: TranscriptProps) {
  const last = turns.at(-1);
  return (
    <ol className="transcript" aria-label="Conversation">
      {turns.map((turn) =>
        turn.kind === "human" ? (
          <li key={turn.id} className="turn from-human">
            <h3 className="hidden">You said</h3>
            <HumanMessage
              text={turn.text}
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
            {(turn !== last || activity === "idle") && <AnswerTools turn={turn} />}
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

function AnswerTools({ turn }: { turn: Extract<Turn, { kind: "assistant" }> }) {
  const text = spoken(turn);
  if (text === "") return null;
  return (
    <div className="answer-tools">
      <CopyButton text={() => text} label="Copy answer" />
    </div>
  );
}

function spoken(turn: Extract<Turn, { kind: "assistant" }>): string {
  return turn.parts
    .map((part) => (part.kind === "text" ? part.text : ""))
    .join("\n\n")
    .trim();
}
