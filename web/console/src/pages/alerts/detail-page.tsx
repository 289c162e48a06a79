import { useMutation, useQueryClient } from "@tanstack/react-query";
import { BellOff, BellRing, CircleAlert, Send } from "lucide-react";
import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { api } from "../../api/client.ts";
import type { Answers } from "../../api/wire.ts";
import {
  Button,
  ButtonLink,
  Card,
  ConfirmDialog,
  ErrorState,
  Facts,
  Page,
  PageHeader,
  Section,
  Skeleton,
  Time,
  toast,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Alert, type AlertEvent, alertPath, useAlert, useSubjects } from "./alert-api.ts";
import { AlertFormView } from "./alert-form.tsx";
import {
  type AlertForm,
  changedBody,
  conditionText,
  formOf,
  kindNames,
  valueText,
} from "./alert-form-rules.ts";
import { causesHref, subjectHref } from "./alert-links.ts";
import { HistoryTable, UndeliveredNotice } from "./history-table.tsx";
import { AlertBadge } from "./list-page.tsx";
import { MadeCard } from "./made-card.tsx";

const crumbs = [{ label: "Alerts", href: "/alerts" }];
const hourMs = 3_600_000;
const causeNames = {
  error_rate: "Runs that failed in the last day",
  latency_p95: "Slow runs of the last day",
  no_traffic: "Runs of the last day",
  export_failed: "Exports",
} as const;

export function DetailPage({ id }: { id: string }) {
  const found = useAlert(id);
  const editing = new URLSearchParams(useSearch()).has("edit");
  if (found.error && !found.data)
    return (
      <Page title="Alert">
        <PageHeader title="Alert" crumbs={crumbs} />
        <ErrorState error={found.error} retry={() => found.refetch()} />
      </Page>
    );
  if (!found.data)
    return (
      <Page title="Alert">
        <Skeleton lines={3} height="4rem" />
      </Page>
    );
  return editing ? <EditPage alert={found.data} /> : <Loaded alert={found.data} />;
}

function useChange(alert: Alert) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: object) => api.patch<Answers["patch_alert"]>(alertPath(alert.id), body),
    onSuccess: ({ webhook_secret: _once, ...changed }) => {
      client.setQueryData(["alerts", alert.id], changed);
      void client.invalidateQueries({ queryKey: ["alerts"] });
    },
  });
}

function EditPage({ alert }: { alert: Alert }) {
  const change = useChange(alert);
  const [, navigate] = useLocation();
  const back = `/alerts/${alert.id}`;
  const saved = (changed: Answers["patch_alert"]) => {
    if (changed.webhook_secret === null) navigate(back);
  };
  return (
    <Page title={alert.name} width="narrow">
      <PageHeader title="Change the alert" crumbs={[...crumbs, { label: alert.name, href: back }]} />
      {change.data?.webhook_secret ? (
        <MadeCard title="The alert is changed" made={change.data} />
      ) : (
        <AlertFormView
          start={formOf(alert)}
          kept={{ webhookHost: alert.webhook_host }}
          action="Save"
          back={back}
          error={change.error}
          busy={change.isPending}
          onChange={change.reset}
          send={(form: AlertForm) => change.mutate(changedBody(form), { onSuccess: saved })}
        />
      )}
    </Page>
  );
}

function Loaded({ alert }: { alert: Alert }) {
  const mayChange = useCan("editor");
  const subjects = useSubjects();
  const subject =
    alert.scope === "workspace"
      ? "everything in this workspace"
      : `${alert.scope} ${subjects.data?.[alert.scope].find(({ id }) => id === alert.scope_id)?.name ?? alert.scope_id}`;
  const projectId =
    alert.scope === "deployment"
      ? subjects.data?.deployment.find(({ id }) => id === alert.scope_id)?.projectId
      : alert.scope_id;
  const watched = subjectHref(alert);
  const causes = causesHref(alert, projectId);
  return (
    <Page title={alert.name}>
      <PageHeader
        title={alert.name}
        crumbs={crumbs}
        badge={<AlertBadge alert={alert} />}
        actions={mayChange && <Actions alert={alert} />}
      />
      {alert.problem !== null && (
        <div className="notice bad" role="status">
          <CircleAlert aria-hidden="true" size={18} />
          <div>
            <b>It cannot be evaluated.</b>
            <p>{alert.problem}</p>
          </div>
        </div>
      )}
      <UndeliveredNotice alert={alert} />
      <Card className="stack">
        <Facts
          items={[
            ["Fires on", `${kindNames[alert.kind]}: ${conditionText(alert)}`],
            [
              "Watches",
              watched === null ? (
                subject
              ) : (
                <Link key="w" href={watched}>
                  {subject}
                </Link>
              ),
            ],
            ["Measured last", valueText(alert)],
            ["Looked at", <Time key="e" at={alert.evaluated_at} />],
            ["Since", <Time key="s" at={alert.state_since} />],
            ["Webhook", alert.webhook_host ?? "none"],
            ["E-mail", alert.emails.length === 0 ? "nobody" : alert.emails.join(", ")],
            ...(alert.muted_until === null
              ? []
              : ([["Muted until", <Time key="m" at={alert.muted_until} />]] as const)),
          ]}
        />
        {causes !== null && (
          <p>
            <Link href={causes}>{causeNames[alert.kind]}</Link>
          </p>
        )}
      </Card>
      <Section title="History">
        <HistoryTable id={alert.id} />
      </Section>
      {mayChange && <DeleteCard alert={alert} />}
    </Page>
  );
}

function Actions({ alert }: { alert: Alert }) {
  const client = useQueryClient();
  const change = useChange(alert);
  const test = useMutation({
    mutationFn: () => api.post<AlertEvent>(`${alertPath(alert.id)}/test`, {}),
    onSuccess: ({ deliveries }) => {
      void client.invalidateQueries({ queryKey: ["alerts"] });
      const failed = deliveries.find(({ status }) => status !== "sent");
      if (failed) toast.bad(new Error(failed.error ?? `${failed.target} did not accept it.`));
      else toast.good("The test has arrived everywhere.");
    },
    onError: (error) => toast.bad(error),
  });
  const save = (body: object, text: string) =>
    change.mutate(body, { onSuccess: () => toast.good(text), onError: (error) => toast.bad(error) });
  const muted = alert.muted_until !== null && Date.parse(alert.muted_until) > Date.now();
  return (
    <>
      <Button icon={Send} busy={test.isPending} onClick={() => test.mutate()}>
        Send a test
      </Button>
      {muted ? (
        <Button icon={BellRing} onClick={() => save({ muted_until: null }, "Notifications are on again.")}>
          End the mute
        </Button>
      ) : (
        <Button
          icon={BellOff}
          onClick={() =>
            save({ muted_until: new Date(Date.now() + hourMs).toISOString() }, "Nothing is sent for an hour.")
          }
        >
          Mute for an hour
        </Button>
      )}
      <Button
        onClick={() => save({ enabled: !alert.enabled }, alert.enabled ? "It is off." : "It watches again.")}
      >
        {alert.enabled ? "Turn off" : "Turn on"}
      </Button>
      <ButtonLink href={`/alerts/${alert.id}?edit`} look="primary">
        Change
      </ButtonLink>
    </>
  );
}

function DeleteCard({ alert }: { alert: Alert }) {
  const [asking, setAsking] = useState(false);
  const [, navigate] = useLocation();
  const client = useQueryClient();
  return (
    <Card className="stack danger-card">
      <h2>Delete this alert</h2>
      <div className="row">
        <Button look="danger" onClick={() => setAsking(true)}>
          Delete…
        </Button>
      </div>
      {asking && (
        <ConfirmDialog
          title="Delete this alert?"
          action="Delete"
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await api.delete(alertPath(alert.id));
            toast.good(`${alert.name} is deleted.`);
            navigate("/alerts");
            client.removeQueries({ queryKey: ["alerts", alert.id] });
            void client.invalidateQueries({ queryKey: ["alerts"] });
          }}
        >
          <strong>{alert.name}</strong> no longer notifies anybody, and its history is deleted.
        </ConfirmDialog>
      )}
    </Card>
  );
}
