/** Credentials stay out of a run's config; so do hop headers every proxy adds. */
const withheld = new Set(["x-api-key", "x-tenant-id", "x-service-key", "x-request-id"]);

/** Request headers `x-*` and the user agent, which graphs may read from `configurable`. */
export function callerConfigurable(headers: Headers): Record<string, unknown> {
  const configurable: Record<string, unknown> = {};
  headers.forEach((value, name) => {
    if (name === "user-agent" || (name.startsWith("x-") && !withheld.has(name))) configurable[name] = value;
  });
  return configurable;
}
