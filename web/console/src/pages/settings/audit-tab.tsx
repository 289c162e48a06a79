import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { resourcesOf } from "../../api/pages.ts";
import { Badge, Field, ListState, Section, Select, ShowMore, Table, Time } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { auditWords } from "./audit-words.ts";
import { useMembers } from "./settings-api.ts";

type AuditEvent = {
  id: string;
  at: string;
  action: keyof typeof auditWords;
  outcome: "done" | "refused" | "failed";
  error_code: string | null;
  actor: {
    kind: "person" | "service" | "loopback" | "anonymous" | "system";
    email: string | null;
    api_key_name: string | null;
  };
  target: { kind: string; id: string | null; name: string | null } | null;
  address: string | null;
  user_agent: string | null;
  details: { more?: number };
};
type Page = { resources: AuditEvent[]; next_cursor: string | null };

const actorWords = {
  person: "A person",
  service: "A service",
  loopback: "This machine, without a key",
  anonymous: "Somebody unknown",
  system: "The server",
} as const;
const tones = { done: "good", refused: "warn", failed: "bad" } as const;
const actions = [
  { value: "", label: "Everything" },
  ...Object.entries(auditWords).map(([value, label]) => ({ value, label })),
];

/** Who did what to what, from where, with which key. */
export function AuditTab() {
  const mayRead = useCan("admin");
  const [action, setAction] = useState("");
  const [person, setPerson] = useState("");
  const members = resourcesOf(useMembers().data) ?? [];
  const found = useInfiniteQuery({
    queryKey: ["settings", "audit", action, person],
    enabled: mayRead,
    // What happens is not hinted at.
    staleTime: 0,
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({ limit: "50" });
      if (action !== "") query.set("action", action);
      if (person !== "") query.set("user_id", person);
      if (pageParam !== "") query.set("cursor", pageParam);
      return api.get<Page>(`/v2/audit-events?${query}`, { signal });
    },
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
  if (!mayRead) return <Section title="Audit log">Only admins of the workspace read the audit log.</Section>;
  const people = members.map(({ user_id, name, email }) => ({ value: user_id, label: name || email }));
  return (
    <Section title="Audit log">
      <p className="muted">Who did what, from where and with which key. Nobody can change or delete an entry.</p>
      <div className="row">
        <Field label="What">
          <Select value={action} onChange={(event) => setAction(event.target.value)} options={actions} />
        </Field>
        <Field label="Who">
          <Select
            value={person}
            onChange={(event) => setPerson(event.target.value)}
            options={[{ value: "", label: "Everybody" }, ...people]}
          />
        </Field>
      </div>
      <ListState of={found} rows={resourcesOf(found.data)} lines={4} height="3rem">
        {(rows) => (
          <Table
            label="Audit log"
            rows={rows}
            rowKey={({ id }) => id}
            columns={[
              { key: "at", header: "When", cell: (row: AuditEvent) => <Time at={row.at} /> },
              { key: "who", header: "Who", cell: (row) => <Who actor={row.actor} /> },
              { key: "what", header: "What", cell: (row) => <b>{auditWords[row.action] ?? row.action}</b> },
              {
                key: "target",
                header: "To what",
                grow: true,
                cell: (row) => <span className="break">{row.target?.name ?? row.target?.id ?? "–"}</span>,
              },
              {
                key: "from",
                header: "From where",
                cell: (row) => <code title={row.user_agent ?? ""}>{row.address ?? "–"}</code>,
              },
              {
                key: "outcome",
                header: "Outcome",
                cell: (row) => (
                  <span className="row" title={row.error_code ?? ""}>
                    <Badge tone={tones[row.outcome]}>{row.outcome}</Badge>
                    {row.details.more !== undefined && <span>and {row.details.more} more</span>}
                  </span>
                ),
              },
            ]}
          />
        )}
      </ListState>
      <ShowMore of={found} />
    </Section>
  );
}

function Who({ actor }: { actor: AuditEvent["actor"] }) {
  return (
    <span>
      {actor.email ?? actorWords[actor.kind]}
      {actor.api_key_name !== null && <span className="muted"> with {actor.api_key_name}</span>}
    </span>
  );
}
