import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { z } from "zod";
import { AppError, errorMessage } from "../../platform/errors.ts";
import * as wire from "../listener-api/listener-wire.ts";

/** How a listener reaches its platform. Nothing ever connects the other way. */
export type PlatformConnection = { url: string; apiKey: string; listenerId: string };

const requestMs = 30_000;
const pollSeconds = 20;
const archiveMs = 10 * 60_000;

type Asked = { body?: unknown; signal?: AbortSignal | undefined; timeoutMs?: number };

/** The platform's side of the listener API, for the process that has the lease. */
export class PlatformClient {
  readonly #connection: PlatformConnection;
  #epoch: number | null = null;
  /** Reports that were sent with this lease. */
  #reports = 0;

  constructor(connection: PlatformConnection) {
    this.#connection = connection;
  }

  get url(): string {
    return this.#connection.url;
  }

  async takeLease(request: wire.LeaseRequest, signal?: AbortSignal): Promise<wire.Lease> {
    const taken = await this.#ask("POST", "/lease", wire.lease, { body: request, signal });
    this.#epoch = taken.epoch;
    this.#reports = 0;
    return taken;
  }

  async endLease(): Promise<void> {
    const epoch = this.#epoch;
    this.#epoch = null;
    if (epoch === null) return;
    await this.#send("POST", "/lease/end", { body: { epoch }, timeoutMs: 3_000 });
  }

  loseLease(): void {
    this.#epoch = null;
  }

  /** Null when nothing changed for a while. */
  async poll(known: string | null, signal: AbortSignal): Promise<wire.WantedState | null> {
    const body = { epoch: this.#held(), known, wait_seconds: pollSeconds };
    const timeoutMs = pollSeconds * 1000 + requestMs;
    const response = await this.#send("POST", "/poll", { body, signal, timeoutMs });
    if (response.status === 204) return null;
    return parse(wire.wantedState, await response.json());
  }

  report(report: Omit<wire.Report, "epoch" | "number">): Promise<wire.Reported> {
    const epoch = this.#held();
    this.#reports += 1;
    const body = { epoch, number: this.#reports, ...report };
    return this.#ask("POST", "/reports", wire.reported, { body });
  }

  secretsOf(revisionId: string): Promise<wire.RevisionSecrets> {
    const body = { epoch: this.#held() };
    return this.#ask("POST", `/revisions/${revisionId}/secrets`, wire.revisionSecrets, { body });
  }

  sourceOf(revisionId: string, signal: AbortSignal): Promise<wire.RevisionSource> {
    const body = { epoch: this.#held() };
    return this.#ask("POST", `/revisions/${revisionId}/source`, wire.revisionSource, { body, signal });
  }

  /** Brings an uploaded source into a new file, checked. */
  async saveArchive(
    revisionId: string,
    wanted: { sha256: string; bytes: number; file: string },
    signal: AbortSignal,
  ): Promise<void> {
    const path = `/revisions/${revisionId}/archive?epoch=${this.#held()}`;
    const response = await this.#send("GET", path, { signal, timeoutMs: archiveMs });
    const digest = createHash("sha256");
    try {
      await pipeline(
        Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]),
        async function* (chunks: AsyncIterable<Buffer>) {
          let bytes = 0;
          for await (const chunk of chunks) {
            bytes += chunk.length;
            if (bytes > wanted.bytes) return;
            digest.update(chunk);
            yield chunk;
          }
        },
        createWriteStream(wanted.file, { mode: 0o600, flags: "wx" }),
        { signal },
      );
    } catch (error) {
      await rm(wanted.file, { force: true });
      signal.throwIfAborted();
      throw away(this.url, error);
    }
    if (digest.digest("hex") === wanted.sha256) return;
    await rm(wanted.file, { force: true });
    throw away(this.url, "the archive was not the one that was uploaded");
  }

  recognise(credential: {
    api_key: string | null;
    authorization: string | null;
    tenant_id: string | null;
  }): Promise<wire.Recognised> {
    return this.#ask("POST", "/callers", wire.recognised, { body: credential, timeoutMs: 5_000 });
  }

  #held(): number {
    if (this.#epoch !== null) return this.#epoch;
    throw leaseLost("This process does not act for the listener at the moment.");
  }

  async #ask<Schema extends z.ZodType>(
    method: string,
    path: string,
    schema: Schema,
    asked: Asked,
  ): Promise<z.output<Schema>> {
    const response = await this.#send(method, path, asked);
    return parse(schema, await response.json());
  }

  async #send(method: string, path: string, asked: Asked): Promise<Response> {
    const { url, apiKey, listenerId } = this.#connection;
    const timeout = AbortSignal.timeout(asked.timeoutMs ?? requestMs);
    let response: Response;
    try {
      response = await fetch(`${url}/v2/listeners/${listenerId}${path}`, {
        method,
        headers: { "x-api-key": apiKey, "content-type": "application/json" },
        ...(asked.body === undefined ? {} : { body: JSON.stringify(asked.body) }),
        // The key is for this address.
        redirect: "error",
        signal: asked.signal ? AbortSignal.any([asked.signal, timeout]) : timeout,
      });
    } catch (error) {
      asked.signal?.throwIfAborted();
      throw away(url, error);
    }
    if (response.ok) return response;
    throw await refusalOf(url, response);
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new AppError({
    code: "listener.platform_refused",
    kind: "bad_gateway",
    message: `The platform sent what this version of the listener does not understand. Use the same version on both sides. ${parsed.error.message.slice(0, 500)}`,
  });
}

async function refusalOf(url: string, response: Response): Promise<AppError> {
  const text = await response.text().catch(() => "");
  const { status } = response;
  if (status >= 500 || status === 429) return away(url, `it answered ${status}`);
  const message = detailOf(text) ?? `It answered ${status}.`;
  const code = response.headers.get("x-error-code");
  if (code === "listener.lease_lost") return leaseLost(message);
  if (code === "listener.held" || code === "listener.other_place")
    return new AppError({ code, kind: "conflict", message });
  return new AppError({
    code: "listener.platform_refused",
    kind: "bad_gateway",
    // What is no longer there was moved or removed, which this process is about to hear: its build has not failed.
    retryable: status === 404,
    message: `The platform at ${url} refused: ${message}`,
  });
}

function detailOf(text: string): string | null {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === "string" ? detail : null;
  } catch {
    return null;
  }
}

/** Passes: this process takes the lease again, or another one goes on with its work. */
export function leaseLost(message: string): AppError {
  return new AppError({ code: "listener.lease_lost", kind: "conflict", message, retryable: true });
}

export function isLeaseLost(error: unknown): boolean {
  return error instanceof AppError && error.code === "listener.lease_lost";
}

/** The platform could not be asked, or failed; a refusal is an answer. */
export function isAway(error: unknown): boolean {
  return error instanceof AppError && error.code === "listener.platform_away";
}

function away(url: string, cause: unknown): AppError {
  const why = typeof cause === "string" ? cause : errorMessage((cause as Error).cause ?? cause);
  return new AppError({
    code: "listener.platform_away",
    kind: "unavailable",
    message: `The platform at ${url} cannot be reached: ${why}.`,
    retryable: true,
    cause,
  });
}
