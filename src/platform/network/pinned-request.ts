import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { AppError } from "../errors.ts";

export type PinnedRequest = {
  url: URL;
  method: string;
  headers: Headers;
  body: string | Uint8Array | undefined;
  /** The only addresses that are connected to; the name is not looked up again. */
  addresses: { address: string; family: 4 | 6 }[];
  maxResponseBytes: number;
  signal: AbortSignal;
};

export type PinnedResponse = { status: number; headers: Headers; body: Uint8Array<ArrayBuffer> };

/** One exchange on a connection of its own, read whole. Redirects are the caller's business. */
export function sendPinned(request: PinnedRequest): Promise<PinnedResponse> {
  const { url, body } = request;
  const headers = new Headers(request.headers);
  if (!headers.has("accept-encoding")) headers.set("accept-encoding", "identity");
  if (!headers.has("user-agent")) headers.set("user-agent", "treadle");
  if (body !== undefined) headers.set("content-length", String(Buffer.byteLength(body)));
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(error instanceof AppError ? error : unreachable(url, error));
    const open: typeof httpRequest = url.protocol === "https:" ? httpsRequest : httpRequest;
    let outgoing: ClientRequest;
    try {
      outgoing = open(url, {
        method: request.method,
        headers: Object.fromEntries(headers),
        agent: false,
        lookup: pinnedLookup(request.addresses),
        signal: request.signal,
      });
    } catch (error) {
      fail(error);
      return;
    }
    outgoing.on("error", fail);
    outgoing.on("response", (incoming) => {
      readWhole(incoming, request).then(
        (bytes) => resolve({ status: incoming.statusCode ?? 0, headers: headersOf(incoming), body: bytes }),
        (error) => {
          outgoing.destroy();
          fail(error);
        },
      );
    });
    outgoing.end(body);
  });
}

function pinnedLookup(addresses: PinnedRequest["addresses"]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, addresses);
    else callback(null, first!.address, first!.family);
  };
}

async function readWhole(
  incoming: IncomingMessage,
  request: PinnedRequest,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > request.maxResponseBytes) {
      throw new AppError({
        code: "network.response_too_large",
        kind: "bad_gateway",
        message: `${request.url.host} answered with more than ${request.maxResponseBytes} bytes.`,
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function headersOf(incoming: IncomingMessage): Headers {
  const headers = new Headers();
  const { rawHeaders } = incoming;
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!);
  return headers;
}

function unreachable(url: URL, cause: unknown): AppError {
  const { code } = cause as { code?: string };
  return new AppError({
    code: "network.unreachable",
    kind: "bad_gateway",
    message: `${url.host} cannot be reached${code ? ` (${code})` : ""}. Check the address and that the service runs.`,
    retryable: true,
    cause,
  });
}
