import { Badge, Table, Time } from "../../ui/index.ts";
import type { AuditEvent } from "./audit-api.ts";
import { auditWords } from "./audit-words.ts";

const actorWords = {
  person: "A person",
  service: "A service",
  loopback: "This machine, without a key",
  anonymous: "Somebody unknown",
  system: "The server",
} as const;
const tones = { done: "good", refused: "warn", failed: "bad" } as const;

export function AuditTable({ rows }: { rows: readonly AuditEvent[] }) {
  return (
    <Table
      label="Audit log"
      rows={rows}
      rowKey={({ id }) => id}
      columns={[
        {
          key: "what",
          header: "What",
          cell: ({ action }: AuditEvent) => <b>{auditWords[action] ?? action}</b>,
        },
        { key: "who", header: "Who", cell: ({ actor }) => <Who actor={actor} /> },
        { key: "target", header: "To what", grow: true, cell: (row) => <Target of={row} /> },
        {
          key: "from",
          header: "From where",
          cell: ({ address, user_agent }) => <code title={user_agent ?? ""}>{address ?? "–"}</code>,
        },
        {
          key: "outcome",
          header: "Outcome",
          cell: ({ outcome, error_code }) => (
            <span className="two-lines">
              <Badge tone={tones[outcome]}>{outcome}</Badge>
              {error_code !== null && <code className="muted small break">{error_code}</code>}
            </span>
          ),
        },
        {
          key: "at",
          header: "When",
          align: "right",
          cell: ({ at }) => (
            <span className="nowrap">
              <Time at={at} />
            </span>
          ),
        },
      ]}
    />
  );
}

function Who({ actor }: { actor: AuditEvent["actor"] }) {
  return (
    <span className="two-lines">
      <span className="break">{actor.email ?? actorWords[actor.kind]}</span>
      {actor.api_key_name !== null && <span className="muted small">with the key {actor.api_key_name}</span>}
    </span>
  );
}

function Target({ of: { target, details } }: { of: AuditEvent }) {
  const { more, counted_by: _, ...facts } = details;
  const shown = Object.entries(facts).map(
    ([name, value]) => `${name.replaceAll("_", " ")}: ${textOf(value)}`,
  );
  return (
    <span className="two-lines">
      <span className="break">{target?.name ?? target?.id ?? "–"}</span>
      {shown.length > 0 && <span className="muted small break">{shown.join(" · ")}</span>}
      {typeof more === "number" && <span className="small">and {more} more like this</span>}
    </span>
  );
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}
