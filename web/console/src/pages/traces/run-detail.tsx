import { FlaskConical } from "lucide-react";
import { Link, useSearchParams } from "wouter";
import {
  ButtonLink,
  Count,
  Duration,
  Facts,
  formatCount,
  Money,
  StatusBadge,
  Tabs,
  Time,
} from "../../ui/index.ts";
import { JsonView } from "../../ui/json-view.tsx";
import { Attachments } from "./attachments.tsx";
import { ExampleLink } from "./example-link.tsx";
import { FeedbackPanel } from "./feedback-panel.tsx";
import { Payload } from "./payload.tsx";
import { conversationHref, useDeploymentOf, useStudioThread } from "./studio-thread.ts";
import { Thumbs } from "./thumbs.tsx";
import type { FullRun } from "./trace-api.ts";
import { TypeIcon } from "./type-icon.tsx";

const tabs = { io: "Input and output", metadata: "Metadata", feedback: "Feedback", raw: "Raw" };
type TabId = keyof typeof tabs;

export function RunDetail({ run }: { run: FullRun }) {
  const [params] = useSearchParams();
  const wanted = params.get("show") ?? "io";
  const current: TabId = Object.hasOwn(tabs, wanted) ? (wanted as TabId) : "io";
  const here = `/traces/${run.session_id}/r/${run.id}`;
  return (
    <div className="stack">
      <header className="run-title">
        <TypeIcon type={run.run_type} />
        <h2>{run.name}</h2>
        <StatusBadge status={run.status} />
        {run.run_type === "llm" && (
          <ButtonLink size="small" icon={FlaskConical} href={`${here}/playground`}>
            Playground
          </ButtonLink>
        )}
        <Thumbs run={run} />
      </header>
      <RunFacts run={run} />
      {run.error && <RunError error={run.error} />}
      <Tabs
        label="Parts of the run"
        current={current}
        tabs={Object.entries(tabs).map(([id, label]) => ({
          id,
          label,
          href: id === "io" ? here : `${here}?show=${id}`,
        }))}
      />
      {current === "io" && (
        <>
          <Payload key={`${run.id} in`} title="Input" value={run.inputs} />
          <Payload
            key={`${run.id} out`}
            title="Output"
            value={run.outputs}
            empty={run.status === "pending" ? "Still running…" : "No output."}
          />
          <Attachments runId={run.id} />
        </>
      )}
      {current === "metadata" && <Metadata run={run} />}
      {current === "feedback" && <FeedbackPanel run={run} />}
      {current === "raw" && <JsonView key={run.id} label="the run" value={run} open={1} />}
    </div>
  );
}

function RunFacts({ run }: { run: FullRun }) {
  const deployment = useDeploymentOf(run.session_id);
  const firstTokenMs = run.first_token_time
    ? Date.parse(run.first_token_time) - Date.parse(run.start_time)
    : null;
  const items: [string, React.ReactNode][] = [
    ["Started", <Time key="start" at={run.start_time} />],
    [
      "Latency",
      <Duration key="took" ms={run.latency == null ? null : run.latency * 1_000} since={run.start_time} />,
    ],
  ];
  if (firstTokenMs !== null) items.push(["First token", <Duration key="first" ms={firstTokenMs} />]);
  if ((run.total_tokens ?? 0) > 0) {
    const parts = `${formatCount(run.prompt_tokens ?? 0)} in, ${formatCount(run.completion_tokens ?? 0)} out`;
    items.push([
      "Tokens",
      <span key="tokens">
        <Count value={run.total_tokens} /> <span className="muted">({parts})</span>
      </span>,
    ]);
  }
  if (run.total_cost != null) items.push(["Cost", <Money key="cost" value={Number(run.total_cost)} />]);
  if (run.thread_id) {
    const { session_id, thread_id } = run;
    items.push(["Thread", <ThreadLinks key="thread" projectId={session_id} threadId={thread_id!} />]);
  }
  const { reference_example_id: exampleId } = run;
  if (exampleId) items.push(["Example", <ExampleLink key="example" id={exampleId} />]);
  if (deployment) {
    items.push([
      "Deployment",
      <span key="deployment" className="row">
        <Link href={`/deployments/${deployment.id}`}>{deployment.name}</Link>
        <Link href={`/deployments/${deployment.id}?tab=logs`}>Logs</Link>
      </span>,
    ]);
  }
  if (run.tags && run.tags.length > 0) {
    items.push([
      "Tags",
      <span key="tags" className="row tags">
        {run.tags.map((tag) => (
          <span key={tag} className="badge">
            {tag}
          </span>
        ))}
      </span>,
    ]);
  }
  return <Facts items={items} />;
}

/** To the conversation its traces are, and to the thread itself where an agent server here has it. */
function ThreadLinks({ projectId, threadId }: { projectId: string; threadId: string }) {
  const studio = useStudioThread(projectId, threadId);
  return (
    <span className="row thread-links">
      <Link href={conversationHref(projectId, threadId)} className="mono cut" title={threadId}>
        {threadId}
      </Link>
      {studio && <Link href={studio}>Studio</Link>}
    </span>
  );
}

/** The last line of a stack is what happened, the rest where. */
function RunError({ error }: { error: string }) {
  const lines = error.trim().split("\n");
  const isPython = lines[0]?.startsWith("Traceback") ?? false;
  const summary = (isPython ? lines.at(-1) : lines[0]) ?? error;
  return (
    <div className="run-error" role="alert">
      <p>{summary}</p>
      {lines.length > 1 && (
        <details>
          <summary>Where it happened</summary>
          <pre>{error}</pre>
        </details>
      )}
    </div>
  );
}

function Metadata({ run }: { run: FullRun }) {
  const metadata = run.extra?.metadata ?? {};
  const simple = Object.entries(metadata).filter(([, value]) => value === null || typeof value !== "object");
  const nested = Object.entries(metadata).filter(([, value]) => value !== null && typeof value === "object");
  const ids: [string, string][] = [
    ["Run id", run.id],
    ["Trace id", run.trace_id],
  ];
  return (
    <div className="stack">
      {simple.length > 0 ? (
        <Facts
          items={simple.map(([key, value]) => [
            key,
            <span key={key} className="mono">
              {String(value)}
            </span>,
          ])}
        />
      ) : (
        <p className="muted">This run has no metadata.</p>
      )}
      {nested.map(([key, value]) => (
        <details key={key} className="fold">
          <summary>{key}</summary>
          <JsonView label={key} value={value} open={1} />
        </details>
      ))}
      <Facts
        items={ids.map(([label, value]) => [
          label,
          <span key={label} className="mono">
            {value}
          </span>,
        ])}
      />
      {run.extra?.runtime && (
        <details className="fold">
          <summary>Runtime</summary>
          <JsonView label="runtime" value={run.extra.runtime} open={2} />
        </details>
      )}
      {Array.isArray(run.events) && run.events.length > 0 && (
        <details className="fold">
          <summary>Events ({run.events.length})</summary>
          <JsonView label="events" value={run.events} open={1} />
        </details>
      )}
    </div>
  );
}
