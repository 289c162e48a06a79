import { useState } from "react";
import { Button, Field, Input, Select } from "../../ui/index.ts";
import { lastDays, type NewExportForm } from "./new-export.ts";

const spans = [
  { days: 1, label: "Today" },
  { days: 7, label: "7 days" },
  { days: 30, label: "30 days" },
];

const intervals = [
  { value: "1", label: "Every hour" },
  { value: "6", label: "Every 6 hours" },
  { value: "24", label: "Every day" },
  { value: "168", label: "Every week" },
  { value: "other", label: "Other…" },
];

export type TimeChoiceProps = {
  form: NewExportForm;
  set(patch: Partial<NewExportForm>): void;
  problem(name: keyof NewExportForm): string | null | undefined;
};

/** Once, from one time to another; or on a schedule, from a time on. */
export function TimeChoice({ form, set, problem }: TimeChoiceProps) {
  const once = form.kind === "once";
  const [isOther, setOther] = useState(!intervals.some(({ value }) => value === form.hours));
  const from = (
    <Field label={once ? "From (UTC)" : "Beginning at (UTC)"} error={problem("from")}>
      <Input
        type="datetime-local"
        value={form.from}
        onChange={(event) => set({ from: event.target.value })}
      />
    </Field>
  );
  return (
    <>
      <div className="row spread">
        <fieldset className="bare row" aria-label="How often">
          <Button size="small" aria-pressed={once} onClick={() => set({ kind: "once" })}>
            Once
          </Button>
          <Button size="small" aria-pressed={!once} onClick={() => set({ kind: "schedule" })}>
            On a schedule
          </Button>
        </fieldset>
        {once && (
          <fieldset className="bare row" aria-label="Time">
            {spans.map(({ days, label }) => (
              <Button key={days} size="small" look="quiet" onClick={() => set(lastDays(new Date(), days))}>
                {label}
              </Button>
            ))}
          </fieldset>
        )}
      </div>
      <div className="columns">
        {from}
        {once ? (
          <Field label="To (UTC)" hint="Exclusive: up to this time." error={problem("to")}>
            <Input
              type="datetime-local"
              value={form.to}
              onChange={(event) => set({ to: event.target.value })}
            />
          </Field>
        ) : (
          <Field label="How often" error={isOther ? undefined : problem("hours")}>
            <Select
              value={isOther ? "other" : form.hours}
              onChange={({ target }) => {
                setOther(target.value === "other");
                set({ hours: target.value === "other" ? "12" : target.value });
              }}
              options={intervals}
            />
          </Field>
        )}
      </div>
      {!once && isOther && (
        <Field label="Hours between exports" error={problem("hours")}>
          <Input
            type="number"
            min={1}
            max={168}
            value={form.hours}
            onChange={(event) => set({ hours: event.target.value })}
          />
        </Field>
      )}
      {!once && (
        <p className="muted small">
          Each export covers one interval and is created ten minutes after its end. If the start is in the
          past, the missed intervals are exported too.
        </p>
      )}
    </>
  );
}
