import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";

/**
 * Who runs the installation: an administrator of the workspace that its first start made, acting in it as a person with a
 * credential of their own. Not an administrator of another workspace, nor a service, nor a key that somebody else made
 * for such a person, nor the credential-free caller of loopback.
 */
export function runsInstallation(caller: Caller, firstWorkspaceId: string | undefined): boolean {
  const isPerson = caller.via === "api_key" || caller.via === "session" || caller.via === "console";
  return (
    isPerson && caller.mayUseAccounts && caller.role === "admin" && caller.workspaceId === firstWorkspaceId
  );
}

export function notTheInstallations(): AppError {
  return new AppError({
    code: "installation.forbidden",
    kind: "forbidden",
    message:
      "Only the operator of this installation may do this: an administrator of its first workspace, with their own credential. On its machine: `treadle plan set`.",
  });
}
