import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { isKey } from "../../platform/http/access/carried-key.ts";
import { type Authorize, checkDemand } from "../../platform/http/pipeline/authorize.ts";
import type { PageDoors } from "../pages/page-doors.ts";
import { plainName } from "./header-rules.ts";
import type { HeldRequests, Waiting } from "./held-requests.ts";
import { withoutPlatformCookies } from "./platform-cookies.ts";
import { onlyReads } from "./reading.ts";
import { allCredentials, type CallerFacts } from "./request-headers.ts";
import type { Server, Target } from "./target.ts";
import type { Targets } from "./targets.ts";

export type Admission = CallerFacts & { target: Target };

/** Admitted to a server that takes requests. */
export type ServedAdmission = Admission & { target: { instance: Server } };

export type AdmissionRequest = {
  slug: string;
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** Where the deployment has one and was asked by it. */
  ownOrigin: string | null;
  peer?: string | undefined;
  /** Where the request came from: it may have to wait, and the client may leave meanwhile. */
  client?: Waiting | undefined;
};

export type AdmissionOptions = {
  targets: Targets;
  /** Requests to deployments that sleep wait there. */
  held: HeldRequests;
  authorize: Authorize;
  /** Whether a text is a key, a session or another token of the platform, valid or not. */
  isPlatformCredential(text: string): Promise<boolean>;
  /** Where people enter pages by their console session; without it a credential is not asked for, or there are none. */
  pages?: PageDoors | undefined;
};

/** What every caller of a deployment without authentication of its own must have. */
const demand = { role: "viewer", scope: ["read", "runs"] } as const;

/**
 * A project with its own authentication decides for itself. For the others the platform's keys hold, as they do for
 * the built-in agent server.
 */
export async function admit(request: AdmissionRequest, options: AdmissionOptions): Promise<Admission> {
  const target = await options.targets.find(request.slug);
  if (target?.usesOwnAuth) return admitToOwnAuth(request, target, options);
  // Before the look-up: a caller without access must not learn whether the deployment exists.
  const caller =
    (await callerOfPage(request, target, options.pages)) ?? (await authorizeWith(request, options.authorize));
  if (!target || !mayEnter(caller, target)) throw notFound(request.slug);
  requireRole(caller!, request);
  const keyed = isKeyed(request);
  return { target, usesOwnAuth: false, operator: false, keyed, platformCredentials: allCredentials };
}

const maxAdmissions = 3;
/** In one header. */
const mostKeys = 8;

/**
 * Admits a request and finds its server. Checking the credential takes time, in which the deployment may get another
 * server and the one that was found may stop. A caller that sends the request right after this, without awaiting
 * anything, reaches a server that is not stopping.
 */
export async function admitToServer(
  request: AdmissionRequest,
  options: AdmissionOptions,
): Promise<ServedAdmission> {
  const { held, targets } = options;
  let deadline: number | undefined;
  for (let round = 1; ; round += 1) {
    const admission = await admit(request, options);
    const { target } = admission;
    if (!isServed(admission)) {
      if (target.rests === "no" || request.client?.destroyed) throw notServing(target);
      deadline ??= held.deadline();
      await held.until(target, request.slug, deadline, request.client);
      round = 0;
      continue;
    }
    if (round === maxAdmissions || targets.isCurrent(request.slug, target)) return admission;
  }
}

function isServed(admission: Admission): admission is ServedAdmission {
  return admission.target.instance !== null;
}

/** The platform's credentials stop here; those of the project itself go on to it. */
async function admitToOwnAuth(
  request: AdmissionRequest,
  target: Target,
  options: AdmissionOptions,
): Promise<Admission> {
  const { headers } = request;
  // First: what a platform elsewhere accepts here is known below.
  const operator =
    headers["x-auth-scheme"] !== undefined && (await isOperator(request, target, options.authorize));
  const platformCredentials = new Set(["x-service-key"]);
  for (const name in headers) {
    const plain = plainName(name);
    if (plain !== "x-api-key" && plain !== "authorization") continue;
    if (await holdsPlatformCredential(String(headers[name] ?? ""), options)) platformCredentials.add(plain);
  }
  const tenant = String(headers["x-tenant-id"] ?? "").toLowerCase();
  if (platformCredentials.size > 1 || tenant === target.workspaceId) platformCredentials.add("x-tenant-id");
  return { target, usesOwnAuth: true, operator, keyed: isKeyed(request), platformCredentials };
}

/** A header that was sent twice arrives as one, with commas; a key may have commas, too. */
async function holdsPlatformCredential(value: string, options: AdmissionOptions): Promise<boolean> {
  const parts = value.split(",");
  // No project has so many keys, and each is looked up.
  const texts = new Set([value, ...(parts.length > mostKeys ? [] : parts)]);
  for (const each of texts) {
    const text = each.trim().replace(/^bearer\s+/i, "");
    if (text !== "" && (await options.isPlatformCredential(text))) return true;
  }
  return false;
}

/** Only with a credential of the deployment's workspace: to be on this machine proves nothing here. */
async function isOperator(request: AdmissionRequest, target: Target, authorize: Authorize): Promise<boolean> {
  let caller: Caller | null;
  try {
    caller = await authorizeWith(request, authorize);
  } catch (error) {
    // Callers unknown to the platform are left to the project's own authentication.
    if (error instanceof AppError && (error.kind === "unauthenticated" || error.kind === "forbidden"))
      return false;
    throw error;
  }
  if (caller === null || caller.via === "loopback" || !mayEnter(caller, target)) return false;
  requireRole(caller, request);
  return true;
}

/** By the cookie that the platform has set at this origin. A credential in a header goes before it. */
async function callerOfPage(
  request: AdmissionRequest,
  target: Target | null,
  pages: PageDoors | undefined,
): Promise<Caller | null> {
  const { ownOrigin: origin, headers } = request;
  if (!pages || origin === null || headers["x-api-key"] || headers.authorization) return null;
  const caller = await pages.callerOf({ ...request, origin }, target?.deploymentId);
  if (caller) checkDemand(caller, demand);
  return caller;
}

function isKeyed({ headers }: AdmissionRequest): boolean {
  const apiKey = headers["x-api-key"];
  return isKey(typeof apiKey === "string" ? apiKey : null, headers.authorization ?? null);
}

function authorizeWith(request: AdmissionRequest, authorize: Authorize): Promise<Caller | null> {
  const { host } = request.headers;
  return authorize(
    { kind: "agent", ...demand, gateway: true },
    admissionHeaders(request),
    host ?? "127.0.0.1",
    undefined,
    request.peer,
  );
}

/** On an origin of its own a deployment's page is at home, and the platform's cookies are not. */
function admissionHeaders({ headers: given, ownOrigin, method }: AdmissionRequest): Headers {
  const headers = toHeaders(given);
  if (ownOrigin === null) return headers;
  const cookies = withoutPlatformCookies(headers.get("cookie") ?? "");
  if (cookies === "") headers.delete("cookie");
  else headers.set("cookie", cookies);
  if (headers.get("origin")?.toLowerCase() === ownOrigin) headers.delete("origin");
  if (isFollowedLink(method, headers)) headers.delete("sec-fetch-site");
  return headers;
}

/** A navigation from another page, such as the console; that page cannot read the answer. */
function isFollowedLink(method: string, headers: Headers): boolean {
  return (
    method === "GET" &&
    headers.get("sec-fetch-mode") === "navigate" &&
    headers.get("sec-fetch-dest") === "document"
  );
}

function requireRole(caller: Caller, { method, path }: AdmissionRequest): void {
  if (!onlyReads(method, path)) checkDemand(caller, { role: "editor", scope: "runs" });
}

/** The keyless caller of this machine may use every workspace's deployments: the machine is theirs. */
function mayEnter(caller: Caller | null, target: Target): boolean {
  // A token for one deployment opens that one.
  if (caller?.deploymentId !== undefined && caller.deploymentId !== target.deploymentId) return false;
  return caller !== null && (caller.via === "loopback" || caller.workspaceId === target.workspaceId);
}

export function toHeaders(given: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const name in given) {
    const value = given[name];
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  return headers;
}

export function notFound(slug: string): AppError {
  return new AppError({
    code: "gateway.unknown",
    kind: "not_found",
    message: `There is no deployment at /d/${slug.slice(0, 100)}.`,
  });
}

export function notServing(target: Target): AppError {
  if (target.elsewhere)
    return new AppError({ code: "gateway.elsewhere", kind: "misdirected", message: target.reason });
  return new AppError({
    code: target.stopped ? "gateway.stopped" : "gateway.not_serving",
    kind: "unavailable",
    message: target.reason,
    headers: { "retry-after": target.stopped ? "300" : "2" },
  });
}

export function pathRefused(): AppError {
  return new AppError({
    code: "gateway.path_refused",
    kind: "invalid",
    message:
      "This path cannot be forwarded: leave out dot segments, backslashes and fragments, and send it over HTTP.",
  });
}
