import { get } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { instanceSecretHeader } from "./instance-secret.ts";

const intervalMs = 75;
const timeoutMs = 5_000;

/** Asks `/ok` until it answers 200; every other answer is passed to the callback. */
export async function untilHealthy(
  server: { port: number; secret: string | null },
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

function ask(server: { port: number; secret: string | null }, signal: AbortSignal): Promise<string> {
  const { port, secret } = server;
  return new Promise((resolve, reject) => {
    const request = get(
      {
        host: "127.0.0.1",
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
