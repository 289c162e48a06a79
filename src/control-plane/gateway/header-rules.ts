import { callerHeader, instanceSecretHeader } from "../runtimes/instance-secret.ts";

/** They speak about one connection and not about the message. */
export const hopByHop = new Set([
  "connection",
  "expect",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Only the gateway sets it for an agent. A client's is removed. */
export { callerHeader };
export const operatorWord = "operator";
/** A caller with a key: with one, JSON may come under any content type. */
export const keyWord = "key";

/** By these an agent decides who is calling. From a client they count only with a credential of the platform. */
export const callerHeaders: ReadonlySet<string> = new Set(["x-auth-scheme"]);

/** The gateway writes these itself, or has decided about them; the server behind it would judge as if it were alone. */
const decidedHere: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "origin",
  "referer",
  "sec-fetch-site",
  "sec-fetch-mode",
  "sec-fetch-dest",
  "sec-fetch-user",
  "forwarded",
  "x-real-ip",
  // What may be done was decided by the method on the wire.
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  instanceSecretHeader,
  callerHeader,
]);

/** Where clients put credentials of the platform. */
export const credentialHeaders: ReadonlySet<string> = new Set([
  "x-api-key",
  "x-tenant-id",
  "x-service-key",
  "authorization",
]);

/** Names a `Connection` header must not call its own: they frame a message, or identify its sender. */
const neverOfTheConnection: ReadonlySet<string> = new Set([
  ...decidedHere,
  ...credentialHeaders,
  ...callerHeaders,
  "content-encoding",
  "content-range",
  "content-type",
  "cookie",
  "transfer-encoding",
]);

/** Servers of some languages read `x_api_key` and `x-api-key` as the same header. */
export function plainName(name: string): string {
  return name.includes("_") ? name.replaceAll("_", "-") : name;
}

export function isDecidedHere(name: string): boolean {
  return decidedHere.has(name) || name.startsWith("x-forwarded-");
}

export function mayConnectionName(name: string): boolean {
  const plain = plainName(name);
  return !neverOfTheConnection.has(plain) && !isDecidedHere(plain);
}

/** What a `Connection` header names besides its usual words. */
export function connectionNames(connection: string | undefined): string[] {
  if (connection === undefined || /^(?:keep-alive|close)$/i.test(connection)) return [];
  const names = connection.split(",").map((name) => name.trim().toLowerCase());
  return names.filter((name) => name !== "" && name !== "keep-alive" && name !== "close");
}
