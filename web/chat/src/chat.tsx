import { type AnyStream, useSubmissionQueue } from "@langchain/react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { Announcer } from "./announcer.tsx";
import { type Attachment, toContent } from "./attachments/attachment.ts";
import { findCheckpointAt, findCheckpointBefore } from "./checkpoints.ts";
import { Composer } from "./composer.tsx";
import { Empty, Loading } from "./empty.tsx";
import { Icon } from "./icons.tsx";
import { useModel } from "./model/use-model.ts";
import { GoneNotice, Notice } from "./notices.tsx";
import type { Assistant, ChatServer, Checkpoint, ThreadSummary } from "./servers/chat-server.ts";
import type { Servers } from "./servers/use-servers.ts";
import { titleOf } from "./thread-title.ts";
import { Transcript } from "./transcript.tsx";
import { textOf, toTurns } from "./turns.ts";
import { useBranches } from "./use-branches.ts";
import { useChatStream } from "./use-chat-stream.ts";
import { useFollowedThread } from "./use-followed-thread.ts";
import { useStickToBottom } from "./use-stick-to-bottom.ts";

const Approval = lazy(() => import("./parts/approval.tsx").then((module) => ({ default: module.Approval })));

/** What to do as soon as the view is there: say something, or go on where the thread is. */
export type FirstStep = { kind: "say"; content: unknown } | { kind: "go on" };

export type ChatProps = {
  server: ChatServer;
  threadId: string | null;
  assistants: readonly Assistant[];
  assistantId: string;
  servers: Servers;
  onPick(server: ChatServer, assistantId: string | undefined): void;
  onAddServer(): void;
  summary: ThreadSummary | undefined;
  askedAt: number;
  gone: boolean;
  /** A step of the past that is being looked at. */
  past: Checkpoint | undefined;
  onPast(checkpoint: Checkpoint | undefined): void;
  first: FirstStep | undefined;
  onFirstDone(): void;
  draft: string;
  onDraft(text: string): void;
  onThreadId(threadId: string): void;
  onChanged(): void;
  onBusy(busy: boolean): void;
  /** Reloads the view, and then takes the step, if there is one. */
  onReload(step?: FirstStep): void;
  onNew(step?: FirstStep): void;
};

export function Chat(props: ChatProps) {
  const { server, threadId, assistantId, summary, askedAt, gone, past } = props;
  const model = useModel(server, assistantId);
  /** For a thread that has just been made: it cannot be named before it is there. */
  const untitled = useRef<string>(undefined);
  const onCreated = () => {
    const title = untitled.current;
    untitled.current = undefined;
    const id = current.current;
    const named = title && id ? server.renameThread?.(id, title) : undefined;
    // A title that could not be kept is made of the first words again.
    void Promise.resolve(named)
      .catch(() => undefined)
      .then(props.onChanged);
  };
  const current = useRef(threadId);
  current.current = threadId ?? current.current;
  const stream = useChatStream({
    ...props,
    onCreated,
    onThreadId(id) {
      current.current = id;
      props.onThreadId(id);
    },
  });
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
  const runOptions = model.config ? { config: model.config } : {};
  const say = (content: unknown) => {
    toEnd();
    if (threadId === null) untitled.current = titleOf(content);
    const input = { messages: [{ type: "human", content }] };
    attempt(() => stream.submit(input, { multitaskStrategy: "enqueue", ...runOptions }));
  };
  const send = (text: string, files: readonly Attachment[] = []) => say(toContent(text, files));
  const stop = () => {
    if (!threadId) return;
    attempt(async () => {
      await queue.clear();
      await server.cancelRuns(threadId);
    });
  };
  /** Goes back to a checkpoint, loads the view from there, and takes the step. */
  const goOnFrom = (find: (id: string) => Promise<string | undefined>, step?: FirstStep) => {
    if (!threadId) return;
    attempt(async () => {
      const checkpointId = await find(threadId);
      if (!checkpointId) throw new Error("The step before this message is no longer in the history.");
      await server.goBack(threadId, checkpointId);
      props.onPast(undefined);
      props.onReload(step);
    });
  };
  const branch = (messageId: string, content: unknown) =>
    goOnFrom((id) => findCheckpointBefore(server, id, messageId), { kind: "say", content });
  const regenerate = (messageId: string) =>
    goOnFrom((id) => findCheckpointAt(server, id, messageId), { kind: "go on" });
  const switchTo = (checkpointId: string) => goOnFrom(async () => checkpointId);
  /** Several interrupts at once are answered in one go, when all have their answer. */
  const answer = (id: string, response: unknown) => {
    const all = { ...answers, [id]: response };
    setAnswers(all);
    if (stream.interrupts.every((one) => one.id !== undefined && one.id in all)) {
      attempt(async () => {
        try {
          await stream.respondAll(all, runOptions).finally(() => setAnswers({}));
          props.onChanged();
        } catch (error) {
          if (!isAnsweredElsewhere(error)) throw error;
          props.onReload();
        }
      });
    }
  };

  const { onBusy } = props;
  useEffect(() => {
    onBusy(busy);
    return () => onBusy(false);
  }, [busy, onBusy]);

  const done = useRef(false);
  useEffect(() => {
    const { first } = props;
    if (first === undefined || done.current || stream.isThreadLoading) return;
    done.current = true;
    if (first.kind === "say") say(first.content);
    else attempt(() => stream.submit(null, runOptions));
    props.onFirstDone();
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
  const stopped = summary?.status === "stopped" && activity === "idle" && !past && !gone && !props.first;
  const mayChange = activity === "idle" && !past && !gone && threadId !== null;
  const branches = useBranches({ server, threadId, version: summary?.version, idle: mayChange && !loading });
  return (
    <>
      <div className="frame" ref={frame}>
        <div className="column" ref={content}>
          {loading && <Loading />}
          {!loading && turns.length === 0 && !gone && <Empty server={server} onIdea={send} />}
          <Transcript
            turns={turns}
            activity={activity}
            stream={past ? undefined : (stream as AnyStream)}
            editing={editing}
            onEditing={setEditing}
            onBranch={mayChange ? branch : undefined}
            onRegenerate={mayChange ? regenerate : undefined}
            onSwitch={mayChange ? switchTo : undefined}
            branches={past ? undefined : branches}
            links={linksOf(server, threadId)}
          />
          <Suspense fallback={null}>
            {asks.map((one) => (
              <Approval
                key={one.id}
                ask={one.value}
                onAnswer={(response) => answer(one.id ?? "", response)}
              />
            ))}
          </Suspense>
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
                <button type="button" onClick={() => attempt(() => stream.submit(null, runOptions))}>
                  Go on
                </button>
              }
            >
              The finished steps are kept. Continue from there, or write something else.
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
              inMemory={server.kind === "example"}
              onNew={() => props.onNew()}
              onAskAgain={
                lastSaid?.kind === "human"
                  ? () => props.onNew({ kind: "say", content: lastSaid.text })
                  : undefined
              }
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
          <PastBar
            onContinue={() => switchTo(past.checkpoint.checkpoint_id)}
            onNow={() => props.onPast(undefined)}
          />
        ) : (
          <Composer
            picker={props}
            model={model}
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

/** Where an answer can be looked into: the console's pages for this thread and for a run of it. */
function linksOf({ kind, id }: ChatServer, threadId: string | null) {
  if (threadId === null || (kind !== "built-in" && kind !== "deployment")) return undefined;
  return {
    studio: `/agents/${id}/threads/${threadId}`,
    trace: (runId: string) => `/traces/run/r/${runId}`,
  };
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
  return asks > 0 ? "Answer the question above first" : undefined;
}

function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text === "" ? "The run failed without an error message." : text;
}

function queuedText(values: unknown): string {
  const messages = (values as { messages?: { content?: unknown }[] } | undefined)?.messages ?? [];
  return textOf(messages[0]?.content);
}

/** In another tab, or by another person: what came of it is on the thread. */
function isAnsweredElsewhere(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "no_such_interrupt";
}
