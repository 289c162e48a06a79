import { useEffect, useState } from "react";
import type { Assistant, ChatServer } from "./chat-server.ts";
import { RefusedError } from "./http-api.ts";

type Found = { server: ChatServer; assistants: Assistant[]; problem?: string };

/**
 * The assistants of a server, or why they cannot be listed. They are requested once, and again whenever the server is
 * reachable again: a server that is away for a moment is waited for.
 */
export function useAssistants(server: ChatServer | undefined, online: boolean) {
  const [found, setFound] = useState<Found>();
  const [tries, setTries] = useState(0);
  const isKnown = found !== undefined && found.server === server;
  const isDone = isKnown && found.problem === undefined;
  useEffect(() => {
    if (!online || isDone || !server) return;
    server.listAssistants().then(
      (assistants) => {
        const none = assistants.length === 0 ? { problem: "This server has no assistants." } : {};
        setFound({ server, assistants, ...none });
      },
      (error: unknown) => {
        const problem = problemOf(server, error);
        if (problem !== undefined) setFound({ server, assistants: [], problem });
      },
    );
    void tries;
  }, [online, server, isDone, tries]);
  return {
    assistants: isKnown ? found.assistants : [],
    problem: isKnown ? found.problem : undefined,
    tryAgain: () => setTries((now) => now + 1),
  };
}

/** Undefined where it is enough to wait: the banner shows that the server is away. */
function problemOf(server: ChatServer, error: unknown): string | undefined {
  if (error instanceof RefusedError && [502, 503, 504].includes(error.status)) return undefined;
  if (error instanceof TypeError) return server.kind === "address" ? unreachable(server.apiUrl) : undefined;
  if (server.kind !== "address" && server.kind !== "deployment") return undefined;
  return error instanceof Error ? error.message : String(error);
}

/** A browser does not tell a page whether nothing runs there or the page was not let in. */
function unreachable(url: string): string {
  const { origin } = location;
  return (
    `No response from ${url}. Either no server runs there, or it does not allow pages of ${origin} to call it (CORS). ` +
    `Allow it with CORS_ALLOW_ORIGINS=${origin} for an agent server, or TREADLE_CORS_ORIGINS=${origin} for a whole Treadle.`
  );
}
