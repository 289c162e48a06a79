import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Deployment } from "../../../../openapi/wire.d.ts";
import { connection, ownHeaders } from "../connection.ts";
import { agentServer } from "./agent-server.ts";
import type { ChatServer } from "./chat-server.ts";
import { deploymentFetch } from "./deployment-fetch.ts";
import { exampleServer } from "./example-server.ts";
import { keyedFetch, readSavedServers, type SavedServer, writeSavedServers } from "./saved-servers.ts";

export const builtInId = "built-in";

/** `signedOut`: no user is signed in, so it is not known whose deployments to list. */
type Deployments = { servers: ChatServer[]; signedOut: boolean };

const none: Deployments = { servers: [], signedOut: false };

export type Servers = {
  /** Undefined until it is known which there are. */
  all: ChatServer[] | undefined;
  signedOut: boolean;
  /** Those of this browser alone, with their keys. */
  saved: readonly SavedServer[];
  /** Looks which deployments there are now. */
  look(): void;
  save(server: SavedServer): void;
  forget(id: string): void;
};

/** Everybody one can talk to from this page. The example knows itself alone. */
export function useServers(isExample: boolean): Servers {
  const [deployments, setDeployments] = useState<Deployments>();
  const [saved, setSaved] = useState(readSavedServers);
  const home = useMemo(() => (isExample ? exampleServer() : builtInServer()), [isExample]);

  const known = useRef(new Map<string, ChatServer>());
  const look = useCallback(() => {
    if (isExample) return setDeployments(none);
    // A known server stays the same object, so the conversation with it continues.
    const keep = (server: ChatServer) => {
      const before = known.current.get(server.id);
      if (before && before.name === server.name && before.apiUrl === server.apiUrl) return before;
      known.current.set(server.id, server);
      return server;
    };
    listDeployments().then(
      ({ servers, signedOut }) => setDeployments({ servers: servers.map(keep), signedOut }),
      // The server is away: what was there before is there still.
      () => setDeployments((before) => before ?? none),
    );
  }, [isExample]);
  // A deployment may have been added, stopped or deleted while the page was hidden.
  useEffect(() => {
    look();
    addEventListener("focus", look);
    return () => removeEventListener("focus", look);
  }, [look]);

  const change = useCallback((next: SavedServer[]) => {
    writeSavedServers(next);
    setSaved(next);
  }, []);
  const elsewhere = useMemo(() => (isExample ? [] : saved.map(savedServer)), [isExample, saved]);
  const all = useMemo(
    () => deployments && [home, ...deployments.servers, ...elsewhere],
    [home, deployments, elsewhere],
  );
  return {
    all,
    signedOut: deployments?.signedOut ?? false,
    saved,
    look,
    save: (server) => change([...saved.filter(({ id }) => id !== server.id), server]),
    forget: (id) => change(saved.filter((server) => server.id !== id)),
  };
}

function builtInServer(): ChatServer {
  return agentServer({
    id: builtInId,
    name: "Built-in agents",
    kind: "built-in",
    apiUrl: location.origin,
    fetch: connection.fetch,
  });
}

function savedServer({ id, name, url, key }: SavedServer): ChatServer {
  return agentServer({ id, name, kind: "address", apiUrl: url, fetch: keyedFetch(key) });
}

async function listDeployments(): Promise<Deployments> {
  const answer = await fetch("/v2/deployments?limit=100&remote_reconciled=false", { headers: ownHeaders() });
  if (!answer.ok) return { servers: [], signedOut: answer.status === 401 };
  const { resources } = (await answer.json()) as { resources: Deployment[] };
  const serving = resources.filter(({ active_revision_id }) => active_revision_id !== null);
  return { servers: serving.map(deploymentServer), signedOut: false };
}

/** Through the gateway of this host, regardless of the deployment's public name. */
function deploymentServer({ id, name, display_name, url }: Deployment): ChatServer {
  const { origin, href } = location;
  return agentServer({
    id,
    name: display_name ?? name,
    kind: "deployment",
    apiUrl: `${origin}${new URL(url, href).pathname.replace(/\/+$/, "")}`,
    fetch: deploymentFetch(id),
  });
}
