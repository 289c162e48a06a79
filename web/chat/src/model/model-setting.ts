/** The setting of an assistant by which its model is chosen, as its schema describes it. */
export type ModelSetting = {
  /** Its name under `configurable`. */
  name: string;
  description: string;
  /** Where the schema names the models there are. */
  choices: string[];
  default: string | undefined;
};

type Property = {
  type?: unknown;
  description?: unknown;
  default?: unknown;
  enum?: unknown;
  anyOf?: Property[];
  const?: unknown;
};
type Schema = { properties?: Record<string, Property> } | null | undefined;

const names = ["model_name", "model", "model_id", "llm", "chat_model"];

/** Undefined where the assistant leaves nothing to choose. */
export function modelSettingOf(schemas: {
  config_schema?: Schema;
  context_schema?: Schema;
}): ModelSetting | undefined {
  const properties = { ...schemas.config_schema?.properties, ...schemas.context_schema?.properties };
  const name = names.find((known) => isText(properties[known]));
  if (name === undefined) return undefined;
  const property = properties[name]!;
  return {
    name,
    description: typeof property.description === "string" ? property.description : "",
    choices: choicesOf(property),
    default: typeof property.default === "string" ? property.default : undefined,
  };
}

function isText(property: Property | undefined): boolean {
  if (!property) return false;
  return (
    property.type === "string" || choicesOf(property).length > 0 || (property.anyOf?.some(isText) ?? false)
  );
}

function choicesOf({ enum: choices, anyOf = [], const: only }: Property): string[] {
  const own = Array.isArray(choices) ? choices : only === undefined ? [] : [only];
  return [...own.filter((choice) => typeof choice === "string"), ...anyOf.flatMap(choicesOf)];
}
