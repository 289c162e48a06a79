import { z } from "zod";
import { type AuthMethod, authMethods } from "./provider.ts";

const resourceMetadata = z.object({
  resource: z.string().refine((text) => URL.canParse(text)),
  authorization_servers: z.array(z.string()).default([]),
});
export type ResourceMetadata = z.output<typeof resourceMetadata>;

export function readResourceMetadata(text: string): ResourceMetadata | null {
  try {
    const parsed = resourceMetadata.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** RFC 9728 3.1: between host and path first, then for the whole host. */
export function wellKnownUrls(serverUrl: string): string[] {
  const { origin, pathname } = new URL(serverUrl);
  const path = pathname.replace(/\/+$/, "");
  const root = `${origin}/.well-known/oauth-protected-resource`;
  return path === "" ? [root] : [`${root}${path}`, root];
}

/** `resource_metadata` of a WWW-Authenticate header, if it is an address of the same origin. */
export function resourceMetadataHint(header: string | null, serverUrl: string): string | null {
  const value = /\bresource_metadata\s*=\s*"([^"]{1,2000})"/i.exec(header ?? "")?.[1];
  if (value === undefined || !URL.canParse(value)) return null;
  return new URL(value).origin === new URL(serverUrl).origin ? value : null;
}

/** The resource is the server itself or a path above it on the same origin. */
export function coversResource(resource: string, serverUrl: string): boolean {
  const whole = new URL(resource);
  const server = new URL(serverUrl);
  if (whole.origin !== server.origin) return false;
  const above = whole.pathname.endsWith("/") ? whole.pathname : `${whole.pathname}/`;
  const path = server.pathname.endsWith("/") ? server.pathname : `${server.pathname}/`;
  return path.startsWith(above);
}

/** A public client with PKCE where the server takes one, as it needs no secret to be kept. */
export function chooseAuthMethod(supported: readonly string[] | undefined): AuthMethod {
  if (supported === undefined || supported.includes("none")) return "none";
  return authMethods.find((method) => supported.includes(method)) ?? "client_secret_basic";
}
