import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import { useLocation } from "wouter";
import { useChanges } from "../api/changes.ts";
import { type Session, session as store } from "../session.ts";
import { Button, ErrorState, toast } from "../ui/index.ts";
import { WorkspaceProvider } from "../workspace.tsx";
import { linkedWorkspace } from "./linked-workspace.ts";
import { readWorkspaces } from "./read-workspaces.ts";

/** Finds out which workspaces are open before anything else is requested. */
export function WorkspaceGate({ session, children }: { session: Session; children: ReactNode }) {
  const found = useQuery({ queryKey: ["settings", "workspaces"], queryFn: readWorkspaces });
  const all = found.data ?? [];
  const [path] = useLocation();
  // A link into another workspace that one is in opens there.
  const linked = linkedWorkspace(path);
  const current =
    all.find(({ id }) => id === linked) ?? all.find(({ id }) => id === session.workspaceId) ?? all[0];
  const known = session.workspaceId !== null && current?.id === session.workspaceId;

  useEffect(() => {
    if (current && !known) store.chooseWorkspace(current.id);
  }, [current, known]);
  useChanges(known ? session.workspaceId : null);

  if (found.error && !found.data) {
    return (
      <main className="gate">
        <h1 className="spoken">Sign in</h1>
        <ErrorState error={found.error} retry={() => found.refetch()} />
        <Button look="quiet" onClick={() => store.signOut().catch((error: unknown) => toast.bad(error))}>
          Sign out
        </Button>
      </main>
    );
  }
  if (!current || !known) return <main className="gate" aria-busy="true" aria-label="Signing in" />;
  return <WorkspaceProvider value={{ current, all }}>{children}</WorkspaceProvider>;
}
