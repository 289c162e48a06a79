import { z } from "zod";
import { AppError, errorMessage } from "../../platform/errors.ts";
import { plainText } from "../terminal/text.ts";
import { type Connection, defaultUrl } from "./connection.ts";

const detail = z.looseObject({
  detail: z.union([
    z.string(),
    z.array(z.looseObject({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() })),
  ]),
});

/** The sentence for an answer that is an error. */
export function explainAnswer(connection: Connection, status: number, body: unknown): AppError {
  const reason = describeDetail(body);
  if (status === 401) return unauthorized(connection, reason);
  if (status === 403) {
    return new AppError({
      code: "client.forbidden",
      kind: "forbidden",
      message: `${reason ?? "The server refused this."} (${connection.url}, API key from ${connection.keyFrom ?? "nowhere"})`,
    });
  }
  if (reason === null) return notTreadle(connection, status);
  if (status === 404) return new AppError({ code: "client.not_found", kind: "not_found", message: reason });
  if (status >= 500) {
    return new AppError({
      code: "client.server_failed",
      kind: "bad_gateway",
      message: `${connection.url} answered ${status}: ${reason}`,
    });
  }
  return new AppError({ code: "client.refused", kind: "invalid", message: reason });
}

function describeDetail(body: unknown): string | null {
  const parsed = detail.safeParse(body);
  if (!parsed.success) return null;
  const given = parsed.data.detail;
  if (typeof given === "string") return plainText(given);
  return given
    .map(({ loc, msg }) => {
      const place = loc.filter((part) => part !== "body" && part !== "query" && part !== "path").join(".");
      return plainText(msg.includes(place) || place === "" ? msg : `${place}: ${msg}`);
    })
    .join("\n");
}

function unauthorized(connection: Connection, reason: string | null): AppError {
  const { url, apiKey, keyFrom } = connection;
  const message =
    apiKey === null
      ? `${url} needs an API key, and none was given. Run \`treadle login --url ${url}\`, set TREADLE_API_KEY, or name the server's data folder with --data-dir.`
      : `${url} does not accept the API key from ${keyFrom}${reason === null ? "" : ` (${reason})`}. Run \`treadle login --url ${url}\` with a valid one.`;
  return new AppError({ code: "client.unauthorized", kind: "unauthenticated", message });
}

export function notTreadle(connection: Connection, status: number): AppError {
  return new AppError({
    code: "client.not_treadle",
    kind: "bad_gateway",
    message: `The server at ${connection.url} responded (${status}), but is not a Treadle server. Correct the address (it comes from ${connection.urlFrom}).`,
  });
}

/** The answer came, but it is not what this version of the command knows. */
export function wrongShape(
  connection: Connection,
  problem: z.ZodError,
  versions: { own: string; server: string | null },
): AppError {
  const mismatch =
    versions.server !== null && versions.server !== versions.own
      ? `The server is version ${versions.server}, this command ${versions.own}: use the same version of both.`
      : `Is ${connection.url} a Treadle server? This command is version ${versions.own}.`;
  return new AppError({
    code: "client.version_mismatch",
    kind: "bad_gateway",
    message: `The server's response is not what this command expects (${z.prettifyError(problem).replace(/\s+/g, " ")}). ${mismatch}`,
  });
}

/** The sentence for a request that got no answer. */
export function explainNoAnswer(connection: Connection, error: unknown): AppError {
  const { url, urlFrom } = connection;
  const start =
    url === defaultUrl || /\/\/(127\.|localhost|\[::1\])/.test(url)
      ? "Start it with `treadle up`, or name another server with --url."
      : `Check the address (it comes from ${urlFrom}) and the network.`;
  return new AppError({
    code: "client.unreachable",
    kind: "unavailable",
    message: `No response from ${url} (${reasonOf(error)}). ${start}`,
    cause: error,
  });
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof AggregateError) return errorMessage(cause.errors[0]);
  return (
    errorMessage(cause ?? error) ||
    String((cause as { code?: string } | undefined)?.code ?? "no reason given")
  );
}
