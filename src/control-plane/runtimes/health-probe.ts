import { get } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

const intervalMs = 75;
const timeoutMs = 5_000;

/** Asks `/ok` until it says yes; the last answer that was not yes is told along the way. */
export async function untilHealthy(
  port: number,
  signal: AbortSignal,
  onRefusal: (what: string) => void,
): Promise<void> {
  for (;;) {
    const answer = await ask(port, signal);
    if (answer === "ok") return;
    onRefusal(answer);
    await delay(intervalMs, undefined, { signal });
  }
}

function ask(port: number, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(
      { host: "127.0.0.1", port, path: "/ok", agent: false, timeout: timeoutMs, signal },
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
