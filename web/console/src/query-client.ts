import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "./api/client.ts";

/** Hints name what has changed, so nothing is requested again by the clock or on a return to the window. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 60_000,
        // The server is often on this very machine: whether there is a network does not matter.
        networkMode: "always",
        refetchOnWindowFocus: false,
        // A refusal is final; a server that is away comes back.
        retry: (failures, error) => isAway(error) || (isOurFault(error) && failures < 2),
        retryDelay: (failures) => Math.min(500 * 2 ** failures, 10_000),
      },
      mutations: { retry: false, networkMode: "always" },
    },
  });
}

function isAway(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status === 503);
}

function isOurFault(error: unknown): boolean {
  return error instanceof ApiError && error.status >= 500;
}
