import { AppError, invalidField } from "../../platform/errors.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";

/** Refuses, when it is entered, an address that could never be used. */
export type EndpointCheck = (field: string, url: string) => Promise<void>;

const nameLookupMs = 3_000;

/** Every request is checked again when it is made; here a slow or missing name server must not be an obstacle. */
export function createEndpointCheck(options: { guard: NetworkGuard; allowHttp: boolean }): EndpointCheck {
  return async (field, url) => {
    if (!options.allowHttp && !url.toLowerCase().startsWith("https://")) {
      throw invalidField(["body", field], "must be an https URL", url);
    }
    // People's browsers open this one, from where they are.
    if (field === "auth_url") return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, nameLookupMs);
    try {
      await Promise.race([options.guard.checkUrl(url), late]);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "network.name_unknown") throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}
