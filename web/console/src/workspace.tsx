import { createContext, useContext } from "react";
import type { Role, Workspace } from "./session.ts";

export type WorkspaceContext = { current: Workspace; all: readonly Workspace[] };

const Context = createContext<WorkspaceContext | null>(null);
export const WorkspaceProvider = Context.Provider;

/** The workspace one is in; every page is inside one. */
export function useWorkspace(): WorkspaceContext {
  const found = useContext(Context);
  if (!found) throw new Error("There is no workspace around this part of the page.");
  return found;
}

const order: readonly Role[] = ["viewer", "editor", "admin"];

/** Whether the person who is signed in has this role. Hide or disable what they may not; the server refuses it anyway. */
export function useCan(role: Role): boolean {
  return order.indexOf(useWorkspace().current.role) >= order.indexOf(role);
}
