import { Clock } from "lucide-react";
import { useEffect, useRef } from "react";
import { ButtonLink, EmptyState, ErrorLine } from "../../ui/index.ts";
import { JsonView } from "../../ui/json-view.tsx";
import { MessageView } from "../../ui/message-view.tsx";
import { useCan } from "../../workspace.tsx";
import type { AgentServer, ThreadState } from "./agent-api.ts";
import { ContinueCard } from "./continue-card.tsx";
import { InnerTalkView } from "./inner-talk-view.tsx";
import { InterruptCard } from "./interrupts/interrupt-card.tsx";
import { conversationItems, messagesOf, noLiveMessages, shownMessages } from "./live-messages.ts";
import { failureWords } from "./run-failure.ts";
import type { LiveRun } from "./use-live-run.ts";
import type { ThreadAddress } from "./use-thread-address.ts";

export type ConversationProps = {
  server: AgentServer;
  threadId: string;
  state: ThreadState;
  /** What the thread's last run failed with. */
  error: unknown;
  run: LiveRun;
  /** An earlier checkpoint is shown, not the present. */
  past: boolean;
  assistantId: string | undefined;
  address: ThreadAddress;
  /** Where there are two. */
  label?: string;
};

/** The messages, or the state as data when the graph keeps no messages. */
export function Conversation(props: ConversationProps) {
  const { server, threadId, state, error, run, past, assistantId, address, label = "Conversation" } = props;
  const mayAnswer = useCan("editor");
  const settled = messagesOf(state.values);
  const messages = past ? (settled ?? []) : shownMessages(settled ?? [], run.live);
  const interrupts = state.tasks.flatMap((task) => task.interrupts);
  const failed = state.tasks.find(({ error }) => error);
  const ofState = failed ? failureWords(failed.error) : null;
  const ofThread = error ? failureWords(error) : ofState;
  const failure = past ? ofState : run.runId ? null : (run.failure ?? ofThread);
  const hasOtherState = settled === null && Object.keys(state.values).length > 0;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="talk" aria-label={label} tabIndex={0}>
      <h2 className="spoken">{label}</h2>
      {past && (
        <div className="notice" role="status">
          <Clock aria-hidden="true" size={16} />
          <span>This is an earlier state. A message sent from here starts a new branch.</span>
          <ButtonLink href={address.hrefWith({ checkpoint: null })} size="small">
            Back to now
          </ButtonLink>
        </div>
      )}
      {messages.length === 0 && !hasOtherState && !run.runId && (
        <EmptyState title="No messages yet">Choose an assistant below and write to it.</EmptyState>
      )}
      <div className="talk-messages" role="log" aria-label="Messages" aria-busy={run.runId !== null}>
        {conversationItems(messages, past ? noLiveMessages.inner : run.live.inner).map((item, index) =>
          item.kind === "inner" ? (
            <InnerTalkView key={item.talk.namespace} talk={item.talk} over={item.over} />
          ) : (
            <MessageView
              key={typeof item.message.id === "string" ? item.message.id : index}
              message={item.message}
            />
          ),
        )}
        {run.runId && !past && (
          <p className="working" role="status">
            <span className="spinner" aria-hidden="true" /> Working…
          </p>
        )}
      </div>
      {hasOtherState && <JsonView label="the values" value={run.live.values ?? state.values} open={3} />}
      <ErrorLine error={failure} />
      {!past &&
        !run.isWorking &&
        mayAnswer &&
        interrupts.map((interrupt, index) => (
          <InterruptCard
            key={interrupt.id ?? index}
            server={server}
            threadId={threadId}
            interrupt={interrupt}
            among={interrupts.length}
            assistantId={assistantId}
            stops={address.stops}
          />
        ))}
      {!past && !run.isWorking && mayAnswer && interrupts.length === 0 && state.next.length > 0 && (
        <ContinueCard
          server={server}
          threadId={threadId}
          next={state.next}
          failed={failed?.name}
          assistantId={assistantId}
          stops={address.stops}
        />
      )}
      <ScrollAnchor live={run.runId !== null} content={messages.at(-1)?.content ?? interrupts.length} />
    </section>
  );
}

/** Keeps the last words in sight while they are being written, unless one has scrolled away. */
function ScrollAnchor({ live, content }: { live: boolean; content: unknown }) {
  const anchor = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: these are when to look again
  useEffect(() => {
    if (anchor.current) showEnd(anchor.current);
  }, [live, content]);
  useEffect(() => {
    const element = anchor.current;
    const talk = element?.parentElement;
    if (!element || !talk) return;
    // A form that opens below takes room from the conversation.
    const watch = new ResizeObserver(() => {
      if (talk.scrollHeight > talk.clientHeight) showEnd(element);
    });
    watch.observe(talk);
    return () => watch.disconnect();
  }, []);
  return <div ref={anchor} className="talk-end" />;
}

function showEnd(element: HTMLElement): void {
  if (element.getBoundingClientRect().top - innerHeight < 300) element.scrollIntoView({ block: "nearest" });
}
