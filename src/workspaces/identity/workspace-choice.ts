import { AppError, invalidField } from "../../platform/errors.ts";
import { type Caller, CallerRefused, type Role } from "../../platform/http/access/caller.ts";
import { isUuid } from "../../platform/ids.ts";
import type { KeyIdentity } from "./api-key.ts";
import { weakerRole } from "./role.ts";

const listedAtMost = 20;

/** What a credential opens, and with which role at most. */
type Opens = Pick<KeyIdentity, "memberships" | "role">;

/** The caller in the workspace that is asked for; a refusal knows who it was. */
export function callerInWorkspace(
  identity: Opens,
  requested: string | null,
  who: Omit<Caller, "workspaceId" | "role">,
): Caller {
  try {
    return { ...who, ...chooseWorkspace(identity, requested) };
  } catch (error) {
    const [home] = identity.memberships;
    if (!home || !(error instanceof AppError) || error.kind !== "forbidden") throw error;
    throw new CallerRefused(error, { ...who, ...inWorkspace(identity, home) });
  }
}

/** Which workspace a request acts in, from the workspaces its key opens and what `X-Tenant-Id` asks for. */
export function chooseWorkspace(
  identity: Opens,
  requested: string | null,
): Pick<Caller, "workspaceId" | "role"> {
  const wanted = requested?.trim().toLowerCase() ?? "";
  if (wanted === "") return onlyWorkspace(identity);
  if (!isUuid(wanted))
    throw invalidField(["header", "X-Tenant-Id"], "Input should be a valid UUID", requested);
  const membership = identity.memberships.find((candidate) => candidate.workspace_id === wanted);
  // The same message for an unknown workspace and one of other people, so that ids cannot be probed.
  if (!membership) {
    throw new AppError({
      code: "workspace.forbidden",
      kind: "forbidden",
      message: `This credential has no access to workspace ${wanted}. Send the id of one of its own workspaces as X-Tenant-Id.`,
    });
  }
  return inWorkspace(identity, membership);
}

function onlyWorkspace(identity: Opens): Pick<Caller, "workspaceId" | "role"> {
  const [only, ...more] = identity.memberships;
  if (!only) {
    throw new AppError({
      code: "workspace.none",
      kind: "forbidden",
      message:
        "The user of this credential is not a member of any workspace. Ask an admin to add the user to one.",
    });
  }
  if (more.length > 0) {
    const ids = identity.memberships.slice(0, listedAtMost).map((membership) => membership.workspace_id);
    throw new AppError({
      code: "workspace.unspecified",
      kind: "forbidden",
      message: `This credential requires workspace specification: send X-Tenant-Id with one of its workspaces (${ids.join(", ")}).`,
    });
  }
  return inWorkspace(identity, only);
}

function inWorkspace(identity: Opens, membership: { workspace_id: string; role: Role }) {
  return { workspaceId: membership.workspace_id, role: weakerRole(identity.role, membership.role) };
}
