import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import type { Answers } from "../../api/wire.ts";
import { EmptyState, Page, PageHeader, toast } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { alertsPath } from "./alert-api.ts";
import { AlertFormView } from "./alert-form.tsx";
import { type AlertForm, createdBody, emptyAlert } from "./alert-form-rules.ts";
import { MadeCard } from "./made-card.tsx";

type Made = Answers["create_alert"];
const crumbs = [{ label: "Alerts", href: "/alerts" }];

export function NewPage() {
  const mayChange = useCan("editor");
  const client = useQueryClient();
  const [made, setMade] = useState<Made | null>(null);
  const create = useMutation({
    mutationFn: (form: AlertForm) => api.post<Made>(alertsPath, createdBody(form)),
    onSuccess: (alert) => {
      void client.invalidateQueries({ queryKey: ["alerts"] });
      toast.good(`${alert.name} is active.`);
      setMade(alert);
    },
  });
  if (!mayChange)
    return (
      <Page title="New alert" width="narrow">
        <EmptyState title="Your key can only read">
          Ask an admin of this workspace for a key with the role editor.
        </EmptyState>
      </Page>
    );
  return (
    <Page title="New alert" width="narrow">
      <PageHeader
        title={made ? made.name : "New alert"}
        crumbs={crumbs}
        description="Checks runs or exports every minute, and notifies people when something goes wrong and when it is resolved."
      />
      {made ? (
        <MadeCard title="The alert is created" made={made} />
      ) : (
        <AlertFormView
          start={emptyAlert}
          action="Create the alert"
          back="/alerts"
          error={create.error}
          busy={create.isPending}
          onChange={create.reset}
          send={create.mutate}
        />
      )}
    </Page>
  );
}
