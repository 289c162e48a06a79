/** Credentials stay out of a run's config; so do hop headers every proxy adds. */
const withheld = new Set([
  "x-api-key",
  "x-tenant-id",
  "x-service-key",
  "x-request-id",
  "x-auth-scheme",
  "x-treadle-caller",
  "x-treadle-instance-secret",
  "authorization",
  "cookie",
]);

/** Which headers graphs may read, from `http.configurable_headers` of the project file; `*` matches any text. */
export type HeaderRule = {
  includes?: readonly string[] | null | undefined;
  excludes?: readonly string[] | null | undefined;
};

/** Request headers which graphs may read from `configurable`: by default `x-*` and the user agent. */
export function callerConfigurable(headers: Headers, rule: HeaderRule = {}): Record<string, unknown> {
  const configurable: Record<string, unknown> = {};
  headers.forEach((value, name) => {
    if (isShown(name, rule)) configurable[name] = value;
  });
  return configurable;
}

/** Request headers that are logged, by `http.logging_headers`: those it names, or all but those it leaves out. */
export function headersToLog(headers: Headers, rule: HeaderRule): Record<string, string> {
  const shown = { ...rule, includes: rule.includes ?? ["*"] };
  return Object.fromEntries([...headers].filter(([name]) => isShown(name, shown)));
}

/** A credential is shown only when it is named, never because a pattern happens to cover it. */
function isShown(name: string, { includes, excludes }: HeaderRule): boolean {
  if (excludes?.some((pattern) => matches(pattern, name))) return false;
  if (withheld.has(name)) return includes?.some((pattern) => pattern.toLowerCase() === name) ?? false;
  if (includes) return includes.some((pattern) => matches(pattern, name));
  return name === "user-agent" || name.startsWith("x-");
}

function matches(pattern: string, name: string): boolean {
  const parts = pattern
    .toLowerCase()
    .split("*")
    .map((part) => part.replaceAll(/[^\w-]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(name);
}
