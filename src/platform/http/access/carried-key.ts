/**
 * Whether a request brings a key, valid or not. A browser lets a page of another site send these headers only after it
 * has asked the server; cookies and the passwords it remembers itself (`Authorization: Basic`) it sends unasked.
 */
export function carriesKey(headers: Headers): boolean {
  return isKey(headers.get("x-api-key"), headers.get("authorization"));
}

/** The same for headers that were not made into an object. */
export function isKey(apiKey: string | null, authorization: string | null): boolean {
  return (apiKey ?? "").trim() !== "" || /^\s*bearer\s+\S/i.test(authorization ?? "");
}
