import type * as wire from "../../../api/wire.ts";
import { type FormField, fieldsOf, textsOf } from "../form/schema-fields.ts";

type Schemas = wire.Answers["getAssistantSchemas"];
type Kept = Pick<wire.Assistant, "config" | "context">;
type Values = Record<string, unknown>;

/** Where the settings of a graph are kept: newer graphs take a context, older ones `config.configurable`. */
export type SettingsPlace = "context" | "configurable";

export type Settings = { place: SettingsPlace; fields: readonly FormField[]; values: Values };

/** What can be set of an assistant, and what is set. */
export function settingsOf(schemas: Schemas | undefined, kept: Kept): Settings {
  const configurable = valuesOf((kept.config as { configurable?: unknown } | null)?.configurable);
  const context = valuesOf(kept.context);
  const hasContext = fieldsOf(schemas?.context_schema).length > 0 || Object.keys(context).length > 0;
  // A graph takes one or the other: what is there already decides.
  const place =
    Object.keys(configurable).length > 0 && Object.keys(context).length === 0
      ? "configurable"
      : hasContext || fieldsOf(schemas?.config_schema).length === 0
        ? "context"
        : "configurable";
  const schema = place === "context" ? schemas?.context_schema : schemas?.config_schema;
  return { place, fields: fieldsOf(schema), values: place === "context" ? context : configurable };
}

/** The part of a request that sets them; what the form has no field for stays as it is. */
export function settingsBody(
  { place, fields, values }: Settings,
  kept: Kept,
  formValues: Values,
): { context: Values } | { config: Values } {
  const known = new Set(fields.map(({ name }) => name));
  const others = Object.fromEntries(Object.entries(values).filter(([name]) => !known.has(name)));
  const next = { ...others, ...formValues };
  return place === "context"
    ? { context: next }
    : { config: { ...valuesOf(kept.config), configurable: next } };
}

export function settingsTexts({ fields, values }: Settings) {
  return textsOf(fields, values);
}

function valuesOf(value: unknown): Values {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Values) : {};
}
