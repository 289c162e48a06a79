import type { IncomingHttpHeaders } from "node:http";

/** A browser cannot send headers with a WebSocket; the protocols it offers are the one thing it can choose. */
const keyPrefix = "treadle.key.";
const header = "sec-websocket-protocol";

/**
 * Takes an API key out of the offered protocols (`treadle.key.` and the key in base64url) and makes it the `X-Api-Key`
 * of the request, where everything that guards, forwards or logs requests knows it as a credential. What is left is
 * offered as before: the answer names one of those, and never the key.
 */
export function takeSocketKey(headers: IncomingHttpHeaders): void {
  const offered = headers[header];
  if (offered === undefined || !offered.includes(keyPrefix)) return;
  const entries = offered.split(",").map((entry) => entry.trim());
  const rest = entries.filter((entry) => !entry.startsWith(keyPrefix));
  if (rest.length > 0) headers[header] = rest.join(", ");
  else delete headers[header];
  const encoded = entries.find((entry) => entry.startsWith(keyPrefix))!.slice(keyPrefix.length);
  const key = Buffer.from(encoded, "base64url").toString("latin1");
  // Anything else is no key, and no header either.
  if (/^[\x21-\x7e]{1,1000}$/.test(key)) headers["x-api-key"] ??= key;
}
