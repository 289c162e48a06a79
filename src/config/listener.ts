import { z } from "zod";
import { secret, url } from "./fields.ts";
import { isLoopbackHost } from "./loopback.ts";
import { invalidSettings } from "./parse-settings.ts";

/** Settings of `treadle listener`: which server it runs deployments for. */
export const listenerSettings = {
  TREADLE_PLATFORM_URL: url
    .optional()
    .describe("For `treadle listener`: the address of the platform whose deployments it runs."),
  TREADLE_PLATFORM_KEY: secret
    .optional()
    .describe("For `treadle listener`: a key of the platform's workspace with the scope listener."),
  TREADLE_LISTENER_ID: z
    .uuid("must be a uuid")
    .optional()
    .describe("For `treadle listener`: which listener it is, from POST /v2/listeners."),
};

type Given = {
  TREADLE_PLATFORM_URL?: string | undefined;
  TREADLE_PLATFORM_KEY?: string | undefined;
  TREADLE_LISTENER_ID?: string | undefined;
};

export function listenerConfigOf(given: Given) {
  return {
    platformUrl: given.TREADLE_PLATFORM_URL,
    platformKey: given.TREADLE_PLATFORM_KEY,
    id: given.TREADLE_LISTENER_ID,
  };
}

/** Names everything that is missing at once. Secrets are sent to that address, so it must be https. */
export function requireListenerSettings(given: ReturnType<typeof listenerConfigOf>) {
  const { platformUrl, platformKey, id } = given;
  if (platformUrl === undefined || platformKey === undefined || id === undefined) {
    const missing = [
      ...(platformUrl === undefined ? ["TREADLE_PLATFORM_URL: the address of the platform"] : []),
      ...(platformKey === undefined
        ? ["TREADLE_PLATFORM_KEY: a key of its workspace with the scope listener"]
        : []),
      ...(id === undefined ? ["TREADLE_LISTENER_ID: which listener it is, from POST /v2/listeners"] : []),
    ];
    throw invalidSettings(`A listener needs to know its platform. Set:\n  ${missing.join("\n  ")}`);
  }
  const { protocol, hostname } = new URL(platformUrl);
  if (protocol !== "https:" && !isLoopbackHost(hostname))
    throw invalidSettings(
      `TREADLE_PLATFORM_URL must start with https:// (it is ${platformUrl}): secrets of deployments come from there.`,
    );
  return { url: platformUrl.replace(/\/+$/, ""), apiKey: platformKey, listenerId: id.toLowerCase() };
}
