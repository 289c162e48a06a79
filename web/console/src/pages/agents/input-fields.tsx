import { Braces, MessageSquare, TextCursorInput } from "lucide-react";
import type { FormEvent } from "react";
import { Button, Textarea } from "../../ui/index.ts";
import type { InputMode, Written } from "./composer-input.ts";
import type { FormField } from "./form/schema-fields.ts";
import { SchemaForm } from "./form/schema-form.tsx";
import { readJson } from "./read-json.ts";

export type InputFieldsProps = {
  mode: InputMode;
  fields: readonly FormField[];
  written: Written;
  problems: Readonly<Record<string, string>>;
  onChange(written: Written): void;
  onEnter(event: FormEvent): void;
};

/** Where input is written, in the way that was chosen. */
export function InputFields({ mode, fields, written, problems, onChange, onEnter }: InputFieldsProps) {
  if (mode === "form") {
    return (
      <SchemaForm
        fields={fields}
        texts={written.form}
        problems={problems}
        onChange={(form) => onChange({ ...written, form })}
      />
    );
  }
  if (mode === "json") {
    return (
      <>
        <Textarea
          rows={5}
          className="mono"
          aria-label="Input as JSON"
          placeholder='{"messages": [{"role": "user", "content": "…"}]}'
          value={written.json}
          onChange={(event) => onChange({ ...written, json: event.target.value })}
        />
        {written.json.trim() !== "" && readJson(written.json) === undefined && (
          <p className="field-error">This is not JSON yet. Strings need double quotes.</p>
        )}
      </>
    );
  }
  return (
    <Textarea
      rows={2}
      aria-label="Message"
      placeholder="Write a message; Enter sends it"
      value={written.text}
      onChange={(event) => onChange({ ...written, text: event.target.value })}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) onEnter(event);
      }}
    />
  );
}

const ways = {
  message: { label: "Message", icon: MessageSquare },
  form: { label: "Form", icon: TextCursorInput },
  json: { label: "JSON", icon: Braces },
} as const;

/** One button for each other way: pressed again, it leads back to the first. */
export function ModeButtons({
  modes,
  mode,
  onChange,
}: {
  modes: readonly InputMode[];
  mode: InputMode;
  onChange(mode: InputMode): void;
}) {
  return modes.slice(1).map((each) => (
    <Button
      key={each}
      look="quiet"
      size="small"
      icon={ways[each].icon}
      aria-pressed={mode === each}
      onClick={() => onChange(mode === each ? modes[0]! : each)}
    >
      {ways[each].label}
    </Button>
  ));
}
