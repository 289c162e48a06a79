/** What is wrong with what was typed, before the server is asked; null when nothing is. */

export function nameProblem(name: string): string | null {
  if (name.trim() === "") return "Give it a name.";
  return /^[a-zA-Z0-9\-_ ']+$/.test(name) ? null : "Letters, digits, spaces, - _ and ' only.";
}

export function bucketProblem(bucket: string): string | null {
  const text = bucket.trim();
  if (text === "") return "Which bucket? It must exist already.";
  if (/^s3:\/\//i.test(text)) return "The name alone, without s3://.";
  if (text.includes("/")) return "The name alone; folders go into the prefix.";
  if (text.length < 3 || text.length > 63) return "Bucket names have 3 to 63 characters.";
  return /^[a-zA-Z0-9._-]+$/.test(text) ? null : "Letters, digits, dots and dashes only.";
}

export function endpointProblem(endpoint: string): string | null {
  const text = endpoint.trim();
  if (text === "") return null;
  if (!/^https?:\/\//i.test(text)) return "It starts with https:// or http://.";
  if (!URL.canParse(text)) return "This is not a complete address.";
  const { username, search } = new URL(text);
  if (username !== "") return "Keys have their own fields below; leave them out of the address.";
  return search === "" ? null : "An address without a query.";
}

export function keyProblem(key: string, secret: string): string | null {
  if (key.trim() === "" && secret !== "") return "Which key does the secret belong to?";
  return key.trim().length > 255 ? "At most 255 characters." : null;
}

export function secretProblem(key: string, secret: string): string | null {
  return key.trim() !== "" && secret === "" ? "The secret of this key." : null;
}

type RefusedField = "key" | "secret" | "token" | "region" | "endpoint" | "bucket";

/** The field a refusal by the storage is about, by the code of the error. */
const refusedFields: Readonly<Record<string, RefusedField>> = {
  "blob.unknown_key": "key",
  "blob.no_credentials": "key",
  "blob.bad_secret": "secret",
  "blob.bad_token": "token",
  "blob.wrong_region": "region",
  "blob.unreachable": "endpoint",
  "network.address_refused": "endpoint",
  "network.name_unknown": "endpoint",
  "network.timeout": "endpoint",
  "network.unreachable": "endpoint",
  "blob.no_bucket": "bucket",
  "blob.bad_bucket_name": "bucket",
  "blob.no_permission": "bucket",
  "blob.full": "bucket",
};

export function fieldOfRefusal(code: string | null): RefusedField | null {
  return refusedFields[code ?? ""] ?? null;
}

export function windowProblem(from: string, to: string): string | null {
  if (to === "") return "When does it end?";
  if (from !== "" && to <= from) return "The end must come after the start.";
  return null;
}

export function hoursProblem(hours: string): string | null {
  const number = Number(hours);
  return Number.isInteger(number) && number >= 1 && number <= 168 ? null : "1 to 168 hours, which is a week.";
}

/** A field of day and time, which is meant in UTC. */
export function utcTime(local: string): string {
  return `${local.length === 16 ? `${local}:00` : local}Z`;
}

export function localText(time: Date): string {
  return time.toISOString().slice(0, 16);
}
