import { Button, Checkbox } from "../../ui/index.ts";
import { defaultFields, everyField, fieldGroups, payloadFields } from "./export-fields.ts";

export function FieldChoice({
  chosen,
  onChange,
}: {
  chosen: ReadonlySet<string>;
  onChange(chosen: ReadonlySet<string>): void;
}) {
  const toggle = (name: string) => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    onChange(next);
  };
  return (
    <details className="export-columns">
      <summary>
        Columns: {chosen.size} of {everyField.length}
      </summary>
      <div className="stack">
        <div className="row">
          <Button size="small" onClick={() => onChange(defaultFields)}>
            All
          </Button>
          <Button
            size="small"
            onClick={() => onChange(new Set([...defaultFields].filter((name) => !payloadFields.has(name))))}
          >
            Without payloads
          </Button>
          <Button size="small" onClick={() => onChange(new Set())}>
            None
          </Button>
        </div>
        <div className="field-groups">
          {fieldGroups.map(([title, names]) => (
            <fieldset key={title}>
              <legend>{title}</legend>
              {names.map((name) => (
                <Checkbox
                  key={name}
                  label={<code>{name}</code>}
                  checked={chosen.has(name)}
                  onChange={() => toggle(name)}
                />
              ))}
            </fieldset>
          ))}
        </div>
      </div>
    </details>
  );
}
