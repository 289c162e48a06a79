import { get } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../../platform/errors.ts";
import { authorityOf, type Endpoint } from "../endpoints/endpoint.ts";
import { type Announced, readAnnounced } from "./announcement.ts";
import { callerHeader, instanceSecretHeader } from "./instance-secret.ts";

const intervalMs = 75;
const timeoutMs = 5_000;
const maxAnnouncedBytes = 256 * 1024;

export type Probed = Pick<Endpoint, "host" | "port"> & { secret: string | null };

/** Asks `/ok` until it answers 200; every other answer is passed to the callback. */
export async function untilHealthy(
  server: Probed,
  signal: AbortSignal,
  onRefusal: (what: string) => void,
): Promise<void> {
  for (;;) {
    const answer = await ask(server, signal);
    if (answer === "ok") return;
    onRefusal(answer);
    await delay(intervalMs, undefined, { signal });
  }
}

/** What one of our own servers serves; null where the server is none of them. Asked until there is an answer. */
export async function untilAnnounced(
  server: Probed,
  signal: AbortSignal,
  onRefusal: (what: string) => void,
): Promise<Announced | null> {
  for (let waitMs = intervalMs; ; waitMs = Math.min(waitMs * 2, 5_000)) {
    try {
      return readAnnounced(await askOwnServer(server, "/ok", signal));
    } catch (error) {
      signal.throwIfAborted();
      onRefusal(`what it serves cannot be asked: ${errorMessage(error)}`);
      await delay(waitMs, undefined, { signal });
    }
  }
}

/** A question of the platform itself. A stranger's server may answer: it sends nobody elsewhere, and not without end. */
export async function askOwnServer(
  { host, port, secret }: Probed,
  path: string,
  signal: AbortSignal,
): Promise<string> {
  const answer = await fetch(`http://${authorityOf({ host, port })}${path}`, {
    headers: {
      [callerHeader]: "platform",
      ...(secret === null ? {} : { [instanceSecretHeader]: secret }),
    },
    redirect: "error",
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > maxAnnouncedBytes)
      throw new Error(`${path} answers with more than ${maxAnnouncedBytes} bytes`);
    chunks.push(chunk);
  }
  if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}`);
  return Buffer.concat(chunks).toString("utf8");
}

function ask({ host, port, secret }: Probed, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(
      {
        host,
        port,
        path: "/ok",
        headers: secret === null ? {} : { [instanceSecretHeader]: secret },
        agent: false,
        timeout: timeoutMs,
        signal,
      },
      (response) => {
        response.resume();
        response.once("end", () =>
          resolve(response.statusCode === 200 ? "ok" : `/ok answers ${response.statusCode}`),
        );
        response.once("error", () => resolve("/ok ended too early"));
      },
    );
    request.once("timeout", () =>
      request.destroy(new Error(`/ok did not answer within ${timeoutMs / 1000} s`)),
    );
    request.once("error", (error: NodeJS.ErrnoException) => {
      if (signal.aborted) reject(signal.reason);
      else resolve(error.code === "ECONNREFUSED" ? "nothing listens on its port yet" : error.message);
    });
  });
}
