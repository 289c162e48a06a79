import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "../../platform/errors.ts";
import type { AuditSink } from "../../platform/http/audit/audit.ts";
import type { RawExchange } from "../../platform/http/pipeline/raw-exchange.ts";
import type { PageDoors, PageRequest } from "../pages/page-doors.ts";
import type { PageAnswer } from "../pages/page-notice.ts";
import { entryPath, isNavigation } from "../pages/page-request.ts";
import { toHeaders } from "./gateway-access.ts";
import type { GatewayPath } from "./gateway-path.ts";
import type { Targets } from "./targets.ts";

export type Wire = { incoming: IncomingMessage; outgoing: ServerResponse; exchange: RawExchange };

type PageOptions = {
  targets: Targets;
  pages?: PageDoors | undefined;
  /** Records refused attempts to enter. */
  audit?: Pick<AuditSink, "noteRefusal"> | undefined;
};

/** What people at the origin of a deployment are answered by the platform itself. */
export type PageVisit = PageRequest & { target: string };

/** Null: not at the origin of a deployment, or pages here cannot be entered with a console session. */
export function visitOf(
  incoming: IncomingMessage,
  way: GatewayPath,
  origin: string | null,
  { pages }: PageOptions,
): PageVisit | null {
  if (origin === null || !pages) return null;
  const { method = "GET", headers } = incoming;
  return { slug: way.slug, origin, method, headers, target: way.target };
}

/** A browser opens a page without a credential: the console can identify its user. Otherwise the refusal stands. */
export function sendToConsole(
  visit: PageVisit | null,
  error: unknown,
  wire: Wire,
  { pages }: PageOptions,
): void {
  const isMissing = error instanceof AppError && error.code === "request.credential_missing";
  if (!isMissing || visit === null || !isNavigation(visit.method, visit.headers)) throw error;
  send(pages!.begin(visit, visit.target), visit.method, wire);
}

/** Whether this was a browser with a code, which is answered then. A project with its own authentication has the path itself. */
export async function answerEntry(
  visit: PageVisit,
  path: string,
  wire: Wire,
  { pages, targets, audit }: PageOptions,
): Promise<boolean> {
  if (path !== entryPath) return false;
  const target = await targets.find(visit.slug);
  if (target?.usesOwnAuth) return false;
  // A program that only checks links must not use up a code.
  if (visit.method !== "GET" || !isNavigation(visit.method, visit.headers)) throw onlyForBrowsers();
  const { answer, refused } = await pages!.finish(visit, visit.target, target?.deploymentId);
  if (refused !== null) {
    audit?.noteRefusal({
      action: "deployment.page_opened",
      outcome: "refused",
      status: answer.status,
      errorCode: refused,
      caller: null,
      target: { kind: "deployment", name: visit.slug, ...(target ? { id: target.deploymentId } : {}) },
      details: {},
      peer: wire.incoming.socket.remoteAddress,
      headers: toHeaders(visit.headers),
      requestId: wire.exchange.requestId,
    });
  }
  send(answer, visit.method, wire);
  return true;
}

function send({ status, headers, body }: PageAnswer, method: string, { exchange, outgoing }: Wire): void {
  const length = String(Buffer.byteLength(body));
  exchange.begin(status, [...headers, "content-length", length], { ownOrigin: true });
  outgoing.end(method === "HEAD" ? undefined : body);
}

function onlyForBrowsers(): AppError {
  return new AppError({
    code: "page.entry_refused",
    kind: "invalid",
    message:
      "This address only redirects browsers to a page. Open the page itself, or send a key as X-Api-Key.",
  });
}
