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
  if (username !== "") return "Keys have fields of their own below; leave them out of the address.";
  return search === "" ? null : "An address without a query.";
}

export function keyProblem(key: string, secret: string): string | null {
  if (key.trim() === "" && secret !== "") return "Which key does the secret belong to?";
  return key.trim().length > 255 ? "At most 255 characters." : null;
}

export function secretProblem(key: string, secret: string): string | null {
  return key.trim() !== "" && secret === "" ? "The secret of this key." : null;
}

/** The field a refusal by the storage is about; the server names it in its sentence. */
export function fieldOfRefusal(message: string): string | null {
  const fields: [RegExp, string][] = [
    [/secret_access_key|secret access key is wrong/i, "secret"],
    [/access_key_id|access key id/i, "key"],
    [/session token/i, "token"],
    [/config\.region|not in this region/i, "region"],
    [/endpoint_url|cannot be reached|private address|not allowed to connect/i, "endpoint"],
    [/bucket_name|bucket .* does not exist|s3:PutObject|quota/i, "bucket"],
  ];
  return fields.find(([words]) => words.test(message))?.[1] ?? null;
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
