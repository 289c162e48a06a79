import { useQuery } from "@tanstack/react-query";
import { Play, Plus, Square, Trash2 } from "lucide-react";
import { type FormEvent, useMemo, useState } from "react";
import { Link } from "wouter";
import { api } from "../../api/client.ts";
import type { Answers } from "../../api/wire.ts";
import {
  Button,
  ErrorLine,
  ErrorState,
  Field,
  formatCount,
  formatDuration,
  IconButton,
  Input,
  Page,
  PageHeader,
  Select,
  Skeleton,
} from "../../ui/index.ts";
import { MessageView } from "../../ui/message-view.tsx";
import { useCan } from "../../workspace.tsx";
import { messagesOf } from "./chat-messages.ts";
import {
  bodyOf,
  type CallDraft,
  callOfRun,
  type Draft,
  providerOf,
  type Role,
  roles,
} from "./playground-call.ts";
import { type FullRun, runHref, useRun } from "./trace-api.ts";
import { type PlaygroundAnswer, usePlayground } from "./use-playground.ts";
import "./playground.css";

export default function PlaygroundPage({ id }: { id: string }) {
  const run = useRun(id);
  if (run.data && run.data.id === id) return <Playground run={run.data} />;
  return (
    <Page title="Playground" width="full">
      <PageHeader title="Playground" crumbs={[{ label: "Traces", href: "/traces" }]} />
      {run.error ? <ErrorState error={run.error} retry={() => run.refetch()} /> : <Skeleton lines={8} />}
    </Page>
  );
}

/** A model's call to change and run again, with its first answer beside the new one. */
function Playground({ run }: { run: FullRun }) {
  const [draft, setDraft] = useState(() => callOfRun(run));
  const [problem, setProblem] = useState<string>();
  const { answer, run: start, stop } = usePlayground(run.id);
  const missing = useMissingKey(draft.model);
  const mayRun = useCan("editor");
  const change = (part: Partial<CallDraft>) => setDraft((before) => ({ ...before, ...part }));
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    const body = bodyOf(draft);
    setProblem("problem" in body ? body.problem : undefined);
    if (!("problem" in body)) void start(body);
  };
  return (
    <Page title="Playground" width="full">
      <PageHeader
        title="Playground"
        crumbs={[
          { label: "Traces", href: "/traces" },
          { label: run.name, href: runHref(run) },
        ]}
        description="Change the call and run it again. Each run is traced in the project playground."
      />
      <div className="playground">
        <form
          className="playground-call stack"
          aria-label="The call"
          onSubmit={submit}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && mayRun) submit();
          }}
        >
          <Settings draft={draft} onChange={change} />
          <Messages messages={draft.messages} onChange={(messages) => change({ messages })} />
          {missing && (
            <p role="alert" className="playground-missing">
              This workspace has no key of {missing}.{" "}
              <Link href="/settings?tab=models">Add one in the settings</Link>, or use the model offline.
            </p>
          )}
          {problem && (
            <p role="alert" className="error-text">
              {problem}
            </p>
          )}
          {!mayRun && <p className="muted">Viewers can read a call; editors can run it.</p>}
          <div className="row">
            {answer?.isRunning ? (
              <Button icon={Square} onClick={stop}>
                Stop
              </Button>
            ) : (
              <Button type="submit" look="primary" icon={Play} disabled={!mayRun || missing !== undefined}>
                Run again
              </Button>
            )}
            <span className="muted">Ctrl + Enter</span>
          </div>
        </form>
        <div className="playground-answers">
          <Original run={run} />
          <NewAnswer answer={answer} />
        </div>
      </div>
    </Page>
  );
}

function Settings({ draft, onChange }: { draft: CallDraft; onChange(part: Partial<CallDraft>): void }) {
  return (
    <>
      <div className="playground-settings">
        <Field label="Model" hint="offline, a provider, or provider/model">
          <Input value={draft.model} onChange={(event) => onChange({ model: event.target.value })} />
        </Field>
        <Field label="Temperature" hint="Empty: the model's own">
          <Input
            inputMode="decimal"
            value={draft.temperature}
            onChange={(event) => onChange({ temperature: event.target.value })}
          />
        </Field>
      </div>
      <details className="fold" open={draft.tools !== ""}>
        <summary>Tools</summary>
        <textarea
          className="input mono"
          aria-label="Tools as JSON"
          rows={draft.tools === "" ? 3 : 8}
          spellCheck={false}
          value={draft.tools}
          onChange={(event) => onChange({ tools: event.target.value })}
        />
      </details>
    </>
  );
}

function Messages({ messages, onChange }: { messages: Draft[]; onChange(messages: Draft[]): void }) {
  const put = (key: number, part: Partial<Draft>) =>
    onChange(messages.map((each) => (each.key === key ? { ...each, ...part } : each)));
  const add = () => {
    const key = Math.max(-1, ...messages.map((each) => each.key)) + 1;
    onChange([...messages, { key, role: "user", text: "", isJson: false, rest: {} }]);
  };
  return (
    <div className="stack">
      {messages.map((message, index) => (
        <fieldset key={message.key} className="playground-message">
          <legend>Message {index + 1}</legend>
          <div className="row">
            <Select
              aria-label={`Role of message ${index + 1}`}
              value={message.role}
              onChange={(event) => put(message.key, { role: event.target.value as Role })}
              options={roles.map((value) => ({ value, label: value }))}
            />
            {message.isJson && <span className="badge">JSON</span>}
            {Array.isArray(message.rest.tool_calls) && (
              <span className="badge">{message.rest.tool_calls.length} tool calls</span>
            )}
            <IconButton
              label={`Remove message ${index + 1}`}
              icon={Trash2}
              onClick={() => onChange(messages.filter(({ key }) => key !== message.key))}
            />
          </div>
          <textarea
            className={message.isJson ? "input mono" : "input"}
            aria-label={`Message ${index + 1}`}
            dir="auto"
            rows={Math.min(14, Math.max(2, message.text.split("\n").length + 1))}
            value={message.text}
            onChange={(event) => put(message.key, { text: event.target.value })}
          />
        </fieldset>
      ))}
      <div>
        <Button size="small" icon={Plus} onClick={add}>
          Add a message
        </Button>
      </div>
    </div>
  );
}

function Original({ run }: { run: FullRun }) {
  const messages = useMemo(() => messagesOf(run.outputs), [run.outputs]);
  return (
    <section className="playground-answer" aria-label="The first answer">
      <header>
        <h2>First answer</h2>
        <Facts latencyMs={run.latency == null ? undefined : run.latency * 1_000} tokens={run.total_tokens} />
      </header>
      {messages.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages of a stored run keep their places
        <MessageView key={index} message={message} />
      ))}
      {messages.length === 0 && <p className="muted">{run.error ?? "It returned no answer."}</p>}
    </section>
  );
}

function NewAnswer({ answer }: { answer: PlaygroundAnswer | undefined }) {
  return (
    <section className="playground-answer" aria-label="The new answer" aria-busy={answer?.isRunning ?? false}>
      <header>
        <h2>New answer</h2>
        {answer && <Facts latencyMs={answer.latencyMs} tokens={answer.tokens} />}
      </header>
      {!answer && <p className="muted">Run the call to see the new answer.</p>}
      {answer && (answer.message || answer.text !== "") && (
        <MessageView message={answer.message ?? { type: "ai", content: answer.text }} />
      )}
      {answer?.isRunning && answer.text === "" && <p className="muted">The model is working…</p>}
      <ErrorLine error={answer?.error} />
      {answer?.runId && !answer.isRunning && (
        <Link href={`/traces/run/r/${answer.runId}`}>Open its trace</Link>
      )}
    </section>
  );
}

function Facts({ latencyMs, tokens }: { latencyMs: number | undefined; tokens: number | null | undefined }) {
  const parts = [
    ...(latencyMs === undefined ? [] : [formatDuration(latencyMs)]),
    ...(tokens ? [`${formatCount(tokens)} tokens`] : []),
  ];
  return <span className="muted">{parts.join(" · ")}</span>;
}

/** The provider whose key is missing, by its name; undefined where the model can be called. */
function useMissingKey(model: string): string | undefined {
  const provider = providerOf(model);
  const { data } = useQuery({
    queryKey: ["settings", "model-keys"],
    queryFn: ({ signal }) => api.get<Answers["list_model_keys"]>("/v2/model-keys", { signal }),
  });
  const found = data?.resources.find((each) => each.provider === provider);
  return found && !found.set && !found.on_server ? found.name : undefined;
}
