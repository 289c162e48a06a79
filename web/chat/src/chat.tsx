import { type AnyStream, useSubmissionQueue } from "@langchain/react";
import { useEffect, useRef, useState } from "react";
import { Announcer } from "./announcer.tsx";
import { type Assistant, type Checkpoint, cancelRun, goBack, type ThreadSummary } from "./api.ts";
import { findCheckpointBefore } from "./checkpoints.ts";
import { Composer } from "./composer.tsx";
import { Empty, Loading } from "./empty.tsx";
import { Icon } from "./icons.tsx";
import { GoneNotice, Notice } from "./notices.tsx";
import { Approval } from "./parts/approval.tsx";
import { Transcript } from "./transcript.tsx";
import { textOf, toTurns } from "./turns.ts";
import { useChatStream } from "./use-chat-stream.ts";
import { useFollowedThread } from "./use-followed-thread.ts";
import { useStickToBottom } from "./use-stick-to-bottom.ts";

export type ChatProps = {
  threadId: string | null;
  assistants: readonly Assistant[];
  assistantId: string;
  onAssistant(id: string): void;
  summary: ThreadSummary | undefined;
  askedAt: number;
  gone: boolean;
  /** A step of the past that is being looked at. */
  past: Checkpoint | undefined;
  onPast(checkpoint: Checkpoint | undefined): void;
  /** To be sent as soon as the thread is there. */
  firstMessage: string | undefined;
  onFirstSent(): void;
  draft: string;
  onDraft(text: string): void;
  onThreadId(threadId: string): void;
  onChanged(): void;
  onBusy(busy: boolean): void;
  /** Loads the view anew; then sends the message, if there is one. */
  onReload(message?: string): void;
  onNew(message?: string): void;
};

export function Chat(props: ChatProps) {
  const { threadId, assistantId, summary, askedAt, gone, past } = props;
  const stream = useChatStream(props);
  const queue = useSubmissionQueue(stream as AnyStream);
  const [editing, setEditing] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const frame = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);

  const busy = stream.isLoading && !gone;
  const [answers, setAnswers] = useState<Record<string, unknown>>({});
  const asks = gone || past ? [] : stream.interrupts.filter((one) => !((one.id ?? "") in answers));
  const turns = toTurns(past ? (past.values.messages ?? []) : stream.messages);
  const { atEnd, toEnd } = useStickToBottom(frame, content, turns.length > 0 && editing === undefined);
  const loading = stream.isThreadLoading && turns.length === 0;
  useFollowedThread({
    summary,
    askedAt,
    occupied: stream.isLoading || loading,
    asking: asks.length > 0,
    onElsewhere: props.onReload,
  });

  /** Runs something that may be refused, and shows the refusal. */
  const attempt = (work: () => Promise<unknown>) => {
    setProblem(undefined);
    work().catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
  };
  const send = (text: string) => {
    toEnd();
    attempt(() =>
      stream.submit({ messages: [{ type: "human", content: text }] }, { multitaskStrategy: "enqueue" }),
    );
  };
  const stop = () => {
    if (!threadId) return;
    attempt(async () => {
      await queue.clear();
      await cancelRun(threadId);
    });
  };
  const branch = (messageId: string, text: string) => {
    if (!threadId) return;
    attempt(async () => {
      const checkpointId = await findCheckpointBefore(threadId, messageId);
      if (!checkpointId) throw new Error("The step before this message is no longer in the history.");
      await goBack(threadId, checkpointId);
      props.onReload(text);
    });
  };
  const continueFrom = (step: Checkpoint) => {
    if (!threadId) return;
    attempt(async () => {
      await goBack(threadId, step.checkpoint.checkpoint_id);
      props.onPast(undefined);
      props.onReload();
    });
  };
  /** Several interrupts at once are answered in one go, when all have their answer. */
  const answer = (id: string, response: unknown) => {
    const all = { ...answers, [id]: response };
    setAnswers(all);
    if (stream.interrupts.every((one) => one.id !== undefined && one.id in all)) {
      attempt(async () => {
        await stream.respondAll(all).finally(() => setAnswers({}));
        props.onChanged();
      });
    }
  };

  const { onBusy } = props;
  useEffect(() => {
    onBusy(busy);
    return () => onBusy(false);
  }, [busy, onBusy]);

  const sent = useRef(false);
  useEffect(() => {
    if (props.firstMessage === undefined || sent.current || stream.isThreadLoading) return;
    sent.current = true;
    send(props.firstMessage);
    props.onFirstSent();
  });

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const typing = (event.target as HTMLElement).matches("input, textarea, select");
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        field.current?.focus();
      } else if (event.key === "Escape" && busy && !document.querySelector(".sidebar.open")) stop();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });

  const activity = past || gone ? "idle" : busy ? "running" : asks.length > 0 ? "waiting" : "idle";
  const error = problem ?? (stream.error && !gone ? errorText(stream.error) : undefined);
  const lastSaid = turns.findLast((turn) => turn.kind === "human");
  const stopped = summary?.status === "stopped" && activity === "idle" && !past && !gone;
  return (
    <>
      <div className="frame" ref={frame}>
        <div className="column" ref={content}>
          {loading && <Loading />}
          {!loading && turns.length === 0 && !gone && <Empty onIdea={send} />}
          <Transcript
            turns={turns}
            activity={activity}
            stream={past ? undefined : (stream as AnyStream)}
            editing={editing}
            onEditing={setEditing}
            onBranch={activity === "idle" && !past && !gone && threadId ? branch : undefined}
          />
          {asks.map((one) => (
            <Approval key={one.id} ask={one.value} onAnswer={(response) => answer(one.id ?? "", response)} />
          ))}
          {queue.entries.map((entry) => (
            <div key={entry.id} className="queued">
              <span>Next: {queuedText(entry.values)}</span>
              <button type="button" className="quiet small" onClick={() => void queue.cancel(entry.id)}>
                Take back
              </button>
            </div>
          ))}
          {stopped && (
            <Notice
              tone="info"
              title="Stopped before it was done"
              actions={
                <button type="button" onClick={() => attempt(() => stream.submit(null))}>
                  Go on
                </button>
              }
            >
              The steps that were finished are kept. Go on from there, or write something else.
            </Notice>
          )}
          {error && (
            <Notice
              tone="error"
              title="That did not work"
              actions={
                <button type="button" onClick={() => props.onReload()}>
                  Load again
                </button>
              }
            >
              {error}
            </Notice>
          )}
          {gone && (
            <GoneNotice
              onNew={() => props.onNew()}
              onAskAgain={lastSaid?.kind === "human" ? () => props.onNew(lastSaid.text) : undefined}
            />
          )}
        </div>
      </div>
      <Announcer turns={turns} busy={busy} asking={asks.length > 0} />
      <div className="dock">
        {!atEnd && (
          <button type="button" className="to-end" onClick={toEnd}>
            <Icon name="down" />
            Latest
          </button>
        )}
        {past ? (
          <PastBar onContinue={() => continueFrom(past)} onNow={() => props.onPast(undefined)} />
        ) : (
          <Composer
            assistants={props.assistants}
            assistantId={assistantId}
            onAssistant={props.onAssistant}
            busy={busy}
            blocked={blockedBy(gone, asks.length)}
            draft={props.draft}
            onDraft={props.onDraft}
            onSend={send}
            onStop={stop}
            onEditLast={() => lastSaid && activity === "idle" && setEditing(lastSaid.id)}
            field={field}
          />
        )}
      </div>
    </>
  );
}

function PastBar({ onContinue, onNow }: { onContinue(): void; onNow(): void }) {
  return (
    <div className="past-bar" role="status">
      <Icon name="clock" />
      <span>You are looking at an earlier step.</span>
      <button type="button" className="primary" onClick={onContinue}>
        <Icon name="branch" />
        Go on from here
      </button>
      <button type="button" onClick={onNow}>
        Back to now
      </button>
    </div>
  );
}

function blockedBy(gone: boolean, asks: number): string | undefined {
  if (gone) return "This conversation is gone";
  return asks > 0 ? "Decide above first" : undefined;
}

function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text === "" ? "The run failed without saying why." : text;
}

function queuedText(values: unknown): string {
  const messages = (values as { messages?: { content?: unknown }[] } | undefined)?.messages ?? [];
  return textOf(messages[0]?.content);
}
