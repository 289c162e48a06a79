import { useMutation } from "@tanstack/react-query";
import { Download, ScrollText } from "lucide-react";
import { useSearchParams } from "wouter";
import { resourcesOf } from "../../api/pages.ts";
import {
  Button,
  EmptyState,
  ErrorLine,
  Field,
  ListState,
  Section,
  Select,
  ShowMore,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type AuditQuestion, saveAuditEvents, useAuditEvents } from "./audit-api.ts";
import { AuditTable } from "./audit-table.tsx";
import { auditWords } from "./audit-words.ts";
import { useMembers } from "./settings-api.ts";

const actions = [
  { value: "", label: "Everything" },
  ...Object.entries(auditWords).map(([value, label]) => ({ value, label })),
];
const outcomes = [
  { value: "", label: "Any" },
  { value: "done", label: "Done" },
  { value: "refused", label: "Refused" },
  { value: "failed", label: "Failed" },
];
const spans = [
  { value: "", label: "Any time" },
  { value: "1", label: "Last 24 hours" },
  { value: "7", label: "Last 7 days" },
  { value: "30", label: "Last 30 days" },
];

/** Who did what to what, from where, with which key. */
export function AuditTab() {
  const mayRead = useCan("admin");
  const [params, setParams] = useSearchParams();
  const asked: AuditQuestion = {
    action: params.get("action") ?? "",
    outcome: params.get("outcome") ?? "",
    user_id: params.get("user") ?? "",
    lastDays: params.get("days") ?? "",
  };
  const members = resourcesOf(useMembers().data) ?? [];
  const found = useAuditEvents(asked, mayRead);
  const save = useMutation({ mutationFn: () => saveAuditEvents(asked) });
  if (!mayRead) {
    return (
      <Section title="Audit log">
        <EmptyState icon={ScrollText} title="The audit log is for admins">
          Ask an admin of this workspace to look something up, or to change your role.
        </EmptyState>
      </Section>
    );
  }
  const choose = (name: string, value: string) =>
    setParams((before) => {
      const next = new URLSearchParams(before);
      if (value === "") next.delete(name);
      else next.set(name, value);
      return next;
    });
  const people = members.map(({ user_id, name, email }) => ({ value: user_id, label: name || email }));
  const choices = [
    { label: "What", name: "action", value: asked.action, options: actions },
    {
      label: "Who",
      name: "user",
      value: asked.user_id,
      options: [{ value: "", label: "Everybody" }, ...people],
    },
    { label: "Outcome", name: "outcome", value: asked.outcome, options: outcomes },
    { label: "When", name: "days", value: asked.lastDays, options: spans },
  ];
  return (
    <Section
      title="Audit log"
      actions={
        <Button icon={Download} busy={save.isPending} onClick={() => save.mutate()}>
          Export as JSON lines
        </Button>
      }
    >
      <p className="muted">
        Who did what, from where and with which key. Nobody can change or delete an entry.
      </p>
      <ErrorLine error={save.error} />
      <div className="audit-filters">
        {choices.map(({ label, name, value, options }) => (
          <Field key={name} label={label}>
            <Select value={value} onChange={(event) => choose(name, event.target.value)} options={options} />
          </Field>
        ))}
      </div>
      <ListState
        of={found}
        rows={resourcesOf(found.data)}
        lines={4}
        height="3rem"
        empty={
          <EmptyState icon={ScrollText} title="No matching entries">
            Choose a wider filter above.
          </EmptyState>
        }
      >
        {(rows) => <AuditTable rows={rows} />}
      </ListState>
      <ShowMore of={found} />
    </Section>
  );
}
