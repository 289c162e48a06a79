import type { Role } from "../../../platform/http/access/caller.ts";
import type { Scope } from "../../../platform/http/access/scope.ts";
import type { GlobalOptions } from "../../program.ts";

export type KeysOptions = GlobalOptions & {
  role?: Role;
  scope?: Scope[];
  /** Null: never. */
  expires?: Date | null;
  service?: boolean;
  tracingProject?: string;
};

/** What `treadle keys create` asks for, by the names of the wire. */
export function keyRequest(name: string, options: KeysOptions) {
  return {
    name,
    role: options.role,
    scopes: options.scope,
    service: options.service,
    tracing_project: options.tracingProject,
    expires_at: options.expires,
  };
}
