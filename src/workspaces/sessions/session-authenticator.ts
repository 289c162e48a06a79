import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { type Caller, CallerRefused } from "../../platform/http/access/caller.ts";
import { badCredential } from "../identity/api-key.ts";
import { weakerRole } from "../identity/role.ts";
import { callerInWorkspace } from "../identity/workspace-choice.ts";
import type { DeploymentTokens } from "../tokens/deployment-token-service.ts";
import { type ConsoleSession, sessionEnded } from "./console-session.ts";
import type { ConsoleSessions } from "./console-session-service.ts";
import { findPerson, type Person } from "./console-session-store.ts";
import { isOwnPage } from "./own-page.ts";
import { readSessionCookie } from "./session-cookie.ts";

/** What the authenticator of keys does for sessions that were started with one. */
export type KeyCallers = {
  /** The caller a key makes in a workspace; null chooses the only one. Undefined: revoked. Throws when expired. */
  callerOfKey(keyId: string, tenant: string | null): Promise<Caller | undefined>;
  workspacesOfKey(keyId: string): Promise<string[]>;
  personOf(userId: string, load: () => Promise<Person | undefined>): Promise<Person | undefined>;
};

type SessionAuthenticatorOptions = {
  database: Database;
  sessions: ConsoleSessions;
  tokens: DeploymentTokens;
  publicUrl: () => string | undefined;
};

/** Recognises people by the console's cookie, and the tokens the console sends to deployments. */
export class SessionAuthenticator {
  readonly #options: SessionAuthenticatorOptions;

  constructor(options: SessionAuthenticatorOptions) {
    this.#options = options;
  }

  /** The person of a live session in that workspace; null: in the one they chose last. */
  async bySession(session: ConsoleSession, tenant: string | null, keys: KeyCallers): Promise<Caller> {
    const asked = tenant?.trim() ? tenant : null;
    const { api_key_id: keyId } = session;
    if (keyId !== null) {
      const chosen = asked ?? inside(session, await keys.workspacesOfKey(keyId));
      const caller = await keys.callerOfKey(keyId, chosen);
      if (!caller || caller.userId !== session.user_id) throw sessionEnded();
      return { ...caller, via: "console", sessionId: session.id };
    }
    const person = await keys.personOf(session.user_id, () =>
      findPerson(this.#options.database, session.user_id),
    );
    if (!person) throw sessionEnded();
    const workspaces = person.memberships.map(({ workspace_id }) => workspace_id);
    // No key limits a person: the membership alone decides.
    return callerInWorkspace({ ...person, role: "admin" }, asked ?? inside(session, workspaces), {
      organizationId: person.organization_id,
      userId: session.user_id,
      via: "console",
      scopes: null,
      mayUseAccounts: true,
      sessionId: session.id,
    });
  }

  /** Null: no cookie, or not a request of this server's own pages. */
  async byCookie(headers: Headers, request: Request, keys: KeyCallers): Promise<Caller | null> {
    const { publicUrl, sessions } = this.#options;
    const url = publicUrl();
    const secret = readSessionCookie(headers, { https: url?.startsWith("https:") === true });
    if (secret === null) return null;
    const place = { publicUrl: url, urlHost: new URL(request.url).host };
    if (!isOwnPage(headers, request.method, place)) return null;
    return this.bySession(await sessions.recognise(secret), headers.get("x-tenant-id"), keys);
  }

  /** `pageOrigin`: where it came as the cookie of a deployment's page; else it came in a header. */
  async byDeploymentToken(
    token: string,
    tenant: string | null,
    keys: KeyCallers,
    pageOrigin?: string,
  ): Promise<Caller> {
    const { tokens, sessions } = this.#options;
    const claims = await tokens.verify(token);
    if (claims.page_origin !== pageOrigin) {
      throw badCredential("This token is valid only as the cookie of the page it was created for.");
    }
    const session = claims.session_id && (await sessions.findLive(claims.session_id));
    const caller = session
      ? await this.bySession(session, claims.workspace_id, keys)
      : claims.key_id && (await keys.callerOfKey(claims.key_id, claims.workspace_id));
    if (!caller || caller.userId !== claims.sub) {
      throw badCredential("The session or key that made this token has ended. Sign in again.");
    }
    if (tenant?.trim() && tenant.trim().toLowerCase() !== caller.workspaceId) {
      const error = new AppError({
        code: "workspace.forbidden",
        kind: "forbidden",
        message: `This token belongs to workspace ${caller.workspaceId}. Leave X-Tenant-Id out.`,
      });
      throw new CallerRefused(error, caller);
    }
    return { ...caller, role: weakerRole(claims.role, caller.role), deploymentId: claims.deployment_id };
  }
}

/** The workspace chosen last, as long as it is open to the session; else the first. */
function inside(session: ConsoleSession, workspaces: string[]): string | null {
  const { workspace_id: chosen } = session;
  return chosen !== null && workspaces.includes(chosen) ? chosen : (workspaces[0] ?? null);
}
