import { ApiError } from "../../api/client.ts";
import { Button, ButtonLink, Card, ErrorLine, Field, Input, Select, useForm } from "../../ui/index.ts";
import { useSubjects } from "./alert-api.ts";
import { type AlertForm, alertProblems, kindNames } from "./alert-form-rules.ts";

/** Where the server's words about a field of the request go. */
const wireNames: Record<string, keyof AlertForm> = {
  ...{
    name: "name",
    scope_id: "scopeId",
    window_minutes: "window",
    threshold: "threshold",
    min_runs: "minRuns",
  },
  ...{ emails: "emails", webhook_url: "webhook" },
};

const kinds = Object.entries(kindNames).map(([value, label]) => ({ value, label }));
const units: Record<AlertForm["kind"], string> = {
  error_rate: "Percent of the runs that fail.",
  latency_p95: "Seconds that the slowest 5 % of the runs take.",
  no_traffic: "",
  export_failed: "How many exports fail or time out.",
};

export type AlertFormViewProps = {
  start: AlertForm;
  /** What is watched stays as it is; the host of the webhook that is kept. */
  kept?: { webhookHost: string | null };
  action: string;
  back: string;
  error: unknown;
  busy: boolean;
  onChange(): void;
  send(form: AlertForm): void;
};

export function AlertFormView({
  start,
  kept,
  action,
  back,
  error,
  busy,
  onChange,
  send,
}: AlertFormViewProps) {
  const refused = refusalsOf(error);
  const hasWebhook = (kept?.webhookHost ?? null) !== null;
  const { values, set, text, problem, submit } = useForm<AlertForm>({
    ...{ start, refused, onChange, send, judge: "when sent" },
    check: (form) => alertProblems(form, hasWebhook),
  });
  const subjects = useSubjects();
  const choices = values.scope === "workspace" ? [] : (subjects.data?.[values.scope] ?? []);
  const countsRuns = values.kind === "error_rate" || values.kind === "latency_p95";
  return (
    <form className="stack" onSubmit={submit} noValidate>
      <Card className="stack">
        <Field label="Name" error={problem("name")}>
          <Input {...text("name")} placeholder="Support bot fails" autoFocus={!kept} />
        </Field>
        {!kept && (
          <div className="columns">
            <Field label="Fires on">
              <Select
                options={kinds}
                value={values.kind}
                onChange={({ target }) => set({ kind: target.value as AlertForm["kind"] })}
              />
            </Field>
            <Field label="Watches">
              <Select
                options={[
                  { value: "workspace", label: "Everything in this workspace" },
                  { value: "deployment", label: "A deployment" },
                  { value: "project", label: "A tracing project" },
                ]}
                value={values.scope}
                onChange={({ target }) => set({ scope: target.value as AlertForm["scope"], scopeId: "" })}
              />
            </Field>
            {values.scope !== "workspace" && (
              <Field
                label={values.scope === "deployment" ? "Deployment" : "Project"}
                error={problem("scopeId")}
              >
                <Select
                  options={[
                    { value: "", label: subjects.isPending ? "Loading…" : "Choose one" },
                    ...choices.map(({ id, name }) => ({ value: id, label: name })),
                  ]}
                  {...text("scopeId")}
                />
              </Field>
            )}
          </div>
        )}
        <div className="columns">
          {values.kind !== "no_traffic" && (
            <Field label="Threshold" hint={units[values.kind]} error={problem("threshold")}>
              <Input {...text("threshold")} inputMode="decimal" />
            </Field>
          )}
          <Field label="Window" hint="Minutes it looks back." error={problem("window")}>
            <Input {...text("window")} inputMode="numeric" />
          </Field>
          {countsRuns && (
            <Field label="Least runs" hint="With fewer runs it is not evaluated." error={problem("minRuns")}>
              <Input {...text("minRuns")} inputMode="numeric" />
            </Field>
          )}
        </div>
      </Card>
      <Card className="stack">
        <h2>Who is notified</h2>
        <Field
          label="Webhook"
          optional
          hint={
            hasWebhook
              ? `Goes to ${kept!.webhookHost}. Type another address to replace it.`
              : "Gets a signed POST when it fires and when it is resolved. Kept encrypted."
          }
          error={problem("webhook")}
        >
          <Input
            {...text("webhook")}
            className="mono"
            inputMode="url"
            spellCheck={false}
            placeholder="https://hooks.example.com/…"
          />
        </Field>
        <Field label="E-mail" optional hint="Addresses, separated by commas." error={problem("emails")}>
          <Input {...text("emails")} inputMode="email" spellCheck={false} placeholder="on-call@example.com" />
        </Field>
      </Card>
      {Object.keys(refused).length === 0 && <ErrorLine error={error} />}
      <div className="row">
        <Button type="submit" look="primary" busy={busy}>
          {action}
        </Button>
        <ButtonLink href={back} look="quiet">
          Cancel
        </ButtonLink>
      </div>
    </form>
  );
}

function refusalsOf(error: unknown): Partial<Record<keyof AlertForm, string>> {
  if (!(error instanceof ApiError)) return {};
  return Object.fromEntries(
    Object.entries(error.fields).flatMap(([path, message]) =>
      wireNames[path] ? [[wireNames[path], message]] : [],
    ),
  );
}
