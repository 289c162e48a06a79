import { Field, Input, Select, Textarea } from "../../../ui/index.ts";
import type { FormField } from "./schema-fields.ts";

export type SchemaFormProps = {
  fields: readonly FormField[];
  texts: Readonly<Record<string, string>>;
  problems: Readonly<Record<string, string>>;
  onChange(texts: Readonly<Record<string, string>>): void;
};

/** A field for each part of a schema. */
export function SchemaForm({ fields, texts, problems, onChange }: SchemaFormProps) {
  return (
    <div className="schema-form">
      {fields.map((field) => (
        <Field
          key={field.name}
          label={field.title}
          optional={!field.required}
          hint={field.description}
          error={problems[field.name]}
        >
          <Control
            field={field}
            value={texts[field.name] ?? ""}
            onChange={(text) => onChange({ ...texts, [field.name]: text })}
          />
        </Field>
      ))}
    </div>
  );
}

function Control({
  field,
  value,
  onChange,
}: {
  field: FormField;
  value: string;
  onChange(text: string): void;
}) {
  const { kind, options, standard, least, most } = field;
  const change = (event: { target: { value: string } }) => onChange(event.target.value);
  if (kind === "choice" || kind === "boolean") {
    const choices = kind === "boolean" ? ["true", "false"] : options;
    const none = standard === null ? "–" : `– (${standard})`;
    return (
      <Select
        value={value}
        onChange={change}
        options={[{ value: "", label: none }, ...choices.map((choice) => ({ value: choice, label: choice }))]}
      />
    );
  }
  if (kind === "number" || kind === "integer") {
    return (
      <Input
        type="number"
        step={kind === "integer" ? 1 : "any"}
        min={least ?? undefined}
        max={most ?? undefined}
        placeholder={standard ?? ""}
        value={value}
        onChange={change}
      />
    );
  }
  if (kind === "text") return <Input placeholder={standard ?? ""} value={value} onChange={change} />;
  return (
    <Textarea
      className={kind === "json" ? "mono" : ""}
      rows={kind === "json" ? 3 : 2}
      placeholder={standard ?? (kind === "json" ? "JSON" : "")}
      value={value}
      onChange={change}
    />
  );
}
