import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { MessagesSquare, Workflow } from "lucide-react";
import { useMemo } from "react";
import { Link } from "wouter";
import { api, query } from "../../api/client.ts";
import {
  Button,
  ButtonLink,
  Duration,
  EmptyState,
  formatCount,
  formatMoney,
  ListState,
  Money,
  Page,
  PageHeader,
  Time,
} from "../../ui/index.ts";
import { MessageView } from "../../ui/message-view.tsx";
import { conversationTurns, type ThreadTrace, type Turn } from "./conversation-turns.ts";
import { StatusDot } from "./status-dot.tsx";
import { useStudioThread } from "./studio-thread.ts";
import { useProject } from "./trace-api.ts";
import "./conversation.css";

const pageSize = 20;
const selects = [
  ...["NAME", "STATUS", "START_TIME", "LATENCY_SECONDS", "TOTAL_TOKENS", "TOTAL_COST"],
  ...["INPUTS", "OUTPUTS", "ERROR_PREVIEW"],
];

type ThreadPage = { items: (ThreadTrace & { error_preview?: string | null })[]; next_cursor: string | null };
type ThreadNumbers = { turns?: number; total_tokens?: number; total_cost?: number | null };

/** The traces of a thread as the conversation they are: what was said, in order, each with its trace. */
export function ConversationPage({ projectId, threadId }: { projectId: string; threadId: string }) {
  const project = useProject(projectId);
  const path = `/api/v2/threads/${encodeURIComponent(threadId)}`;
  const numbers = useQuery({
    queryKey: ["traces", "thread-stats", projectId, threadId],
    queryFn: ({ signal }) =>
      api.get<ThreadNumbers>(
        `${path}/stats${query({ session_id: projectId })}&selects=turns&selects=total_tokens&selects=total_cost`,
        { signal },
      ),
  });
  const found = useInfiniteQuery({
    queryKey: ["traces", "conversation", projectId, threadId],
    queryFn: ({ pageParam, signal }) => {
      const asked = { project_id: projectId, page_size: String(pageSize), cursor: pageParam ?? undefined };
      const fields = selects.map((name) => `&selects=${name}`).join("");
      return api.get<ThreadPage>(`${path}/traces${query(asked)}${fields}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
  });
  const turns = useMemo(
    () =>
      conversationTurns(
        found.data?.pages
          .flatMap(({ items }) => items)
          .map((item) => ({ ...item, error: item.error_preview ?? null })) ?? [],
      ),
    [found.data],
  );
  const studio = useStudioThread(projectId, threadId);
  return (
    <Page title="Conversation">
      <PageHeader
        title="Conversation"
        crumbs={[
          { label: "Traces", href: "/traces" },
          { label: project.data?.name ?? "Project", href: `/traces/${projectId}` },
        ]}
        description={summaryOf(threadId, numbers.data)}
        actions={
          studio && (
            <ButtonLink href={studio} icon={Workflow}>
              Open in the studio
            </ButtonLink>
          )
        }
      />
      <ListState
        of={{ ...found, data: turns.length > 0 }}
        rows={found.isPending ? undefined : turns}
        lines={6}
        height="4rem"
        empty={
          <EmptyState icon={MessagesSquare} title="No traces of this thread">
            No trace of this project carries the thread id {threadId}.
          </EmptyState>
        }
      >
        {() => (
          <>
            <ol className="conversation" aria-label="Turns">
              {turns.map((turn, index) => (
                <TurnItem key={turn.trace.trace_id} projectId={projectId} turn={turn} number={index + 1} />
              ))}
            </ol>
            {found.hasNextPage && (
              <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                Show later turns
              </Button>
            )}
          </>
        )}
      </ListState>
    </Page>
  );
}

function summaryOf(threadId: string, numbers: ThreadNumbers | undefined): string {
  const parts = [`Thread ${threadId}`];
  if (numbers?.turns) parts.push(`${numbers.turns} ${numbers.turns === 1 ? "trace" : "traces"}`);
  if (numbers?.total_tokens) parts.push(`${formatCount(numbers.total_tokens)} tokens`);
  if (numbers?.total_cost != null) parts.push(formatMoney(numbers.total_cost));
  return parts.join(" · ");
}

function TurnItem({ projectId, turn, number }: { projectId: string; turn: Turn; number: number }) {
  const { trace, messages } = turn;
  const latency = trace.latency_seconds;
  return (
    <li className="turn">
      <header>
        <StatusDot status={trace.status.toLowerCase()} />
        <Link href={`/traces/${projectId}/r/${trace.trace_id}`}>
          {number}. {trace.name}
        </Link>
        <span className="turn-facts muted">
          <Time at={trace.start_time} />
          <Duration ms={latency == null ? null : latency * 1_000} since={trace.start_time} />
          {(trace.total_tokens ?? 0) > 0 && <span>{formatCount(trace.total_tokens!)} tokens</span>}
          {trace.total_cost != null && <Money value={trace.total_cost} />}
        </span>
      </header>
      {messages.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages of a stored trace keep their places
        <MessageView key={index} message={message} />
      ))}
      {messages.length === 0 && !trace.error && <p className="muted">This trace has no messages.</p>}
      {trace.error && (
        <p className="error-text" dir="auto">
          {trace.error}
        </p>
      )}
    </li>
  );
}
