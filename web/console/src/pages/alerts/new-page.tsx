import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import type { Answers } from "../../api/wire.ts";
import { ButtonLink, Card, CopyButton, EmptyState, Page, PageHeader, toast } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { alertsPath } from "./alert-api.ts";
import { AlertFormView } from "./alert-form.tsx";
import { type AlertForm, createdBody, emptyAlert } from "./alert-form-rules.ts";

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
      toast.good(`${alert.name} watches from now on.`);
      setMade(alert);
    },
  });
  if (!mayChange)
    return (
      <Page title="New alert" width="narrow">
        <EmptyState title="Your key may only look">
          Ask an admin of this workspace for a key with the role editor.
        </EmptyState>
      </Page>
    );
  return (
    <Page title="New alert" width="narrow">
      <PageHeader
        title={made ? made.name : "New alert"}
        crumbs={crumbs}
        description="Looks at runs or exports every minute, and notifies people when something goes wrong and when it is well again."
      />
      {made ? (
        <MadeCard made={made} />
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

/** The secret is shown once, here. */
function MadeCard({ made }: { made: Made }) {
  return (
    <Card className="stack">
      <h2>The alert is made</h2>
      {made.webhook_secret !== null && (
        <>
          <p>
            Requests to the webhook are signed with this secret. It is shown now and never again; the
            signature is in <code>x-treadle-signature</code>.
          </p>
          <div className="row address">
            <code className="break">{made.webhook_secret}</code>
            <CopyButton text={made.webhook_secret} label="Copy the secret" />
          </div>
        </>
      )}
      <div className="row">
        <ButtonLink href={`/alerts/${made.id}`} look="primary">
          Open the alert
        </ButtonLink>
      </div>
    </Card>
  );
}
