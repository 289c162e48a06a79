import { useEffect, useState } from "react";
import { type Branches, noBranches, toBranches } from "./message-branches.ts";
import type { ChatServer } from "./servers/chat-server.ts";

/** Branches that began further back are in the history panel. */
const steps = 100;

/** The branches of a thread, read again when it went on; not while it does. */
export function useBranches(options: {
  server: ChatServer;
  threadId: string | null;
  version: string | undefined;
  idle: boolean;
}): Branches {
  const { server, threadId, version, idle } = options;
  const [branches, setBranches] = useState<Branches>(noBranches);
  useEffect(() => {
    if (!idle || threadId === null || version === undefined) return;
    let left = false;
    server.listCheckpoints(threadId, { limit: steps }).then(
      (found) => {
        if (!left) setBranches(toBranches(found));
      },
      // The connection's status shows it; the next version brings the next look.
      () => undefined,
    );
    return () => {
      left = true;
    };
  }, [server, threadId, version, idle]);
  return branches;
}
