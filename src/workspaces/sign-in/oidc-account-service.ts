import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Role } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import type { IdentityChanges } from "../identity/identity-change-service.ts";
import { findMember, insertMembership, keepUser, saveMemberRole } from "../identity/member-store.ts";
import { findPerson } from "../sessions/console-session-store.ts";
import { roleOf, type Subject } from "./oidc-claims.ts";
import type { OidcConfig } from "./oidc-config.ts";
import { SignInProblem } from "./sign-in-problem.ts";
import {
  findLogin,
  findUserByEmail,
  insertLogin,
  lockSubject,
  saveLoginUse,
  type UserLogin,
} from "./user-login-store.ts";

type Place = { organizationId: string; workspaceId: string };

type OidcAccountsOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  config: OidcConfig;
  changes: IdentityChanges;
  /** Where groups give roles. */
  place: () => Promise<Place>;
  /** As an administrator would: refused for the last one. */
  lowerRole: (place: Place, userId: string, role: Role) => Promise<void>;
  /** Takes the membership away with keys and sessions, as an administrator would. */
  removeMember: (place: Place, userId: string) => Promise<void>;
  endSessions: (tx: Sql, userId: string) => Promise<void>;
};

/** Maps a person at the provider to a user and a role. Checked at every sign-in. */
export class OidcAccounts {
  readonly #options: OidcAccountsOptions;

  constructor(options: OidcAccountsOptions) {
    this.#options = options;
  }

  /** The user of a provider's subject, with the role the groups give now; throws a SignInProblem. */
  async admit(
    subject: Subject,
  ): Promise<{ organizationId: string; userId: string; workspaceId: string | null }> {
    const { config, changes, database } = this.#options;
    const place = await this.#options.place();
    const role = roleOf(subject.groups, config);
    const login = await changes.apply((tx) => this.#keepAccount(tx, subject, place, role));
    if (login === null) throw noRole(subject);
    const { userId, grantGone } = login;
    // Outside the transaction, because these are changes of their own, which may be refused for the last administrator.
    if (login.lowerTo !== null) await this.#lower(place, userId, login.lowerTo);
    if (grantGone) await this.#takeAway(place, userId, subject);
    const person = await findPerson(database, userId);
    const open = (person?.memberships ?? [])
      .map(({ workspace_id }) => workspace_id)
      .filter((id) => !(grantGone && id === place.workspaceId));
    if (open.length === 0) throw noRole(subject);
    const workspaceId = open.includes(place.workspaceId) ? place.workspaceId : open[0]!;
    return { organizationId: place.organizationId, userId, workspaceId };
  }

  /** Null: the person has no account here, and no role to create one with. */
  async #keepAccount(
    tx: Sql,
    subject: Subject,
    place: Place,
    role: Role | null,
  ): Promise<{ userId: string; grantGone: boolean; lowerTo: Role | null } | null> {
    const now = this.#options.clock.now();
    const at = {
      organizationId: place.organizationId,
      issuer: subject.issuer,
      subject: subject.subject,
    };
    await lockSubject(tx, subject.issuer, subject.subject);
    const known = await findLogin(tx, at);
    const userId = known?.user_id ?? (await this.#linkedUser(tx, subject, place, role));
    if (userId === null) return null;
    if (!known) await insertLogin(tx, { ...at, userId, now });
    const member = { workspaceId: place.workspaceId, userId };
    const { granted, lowerTo } = await this.#applyRole(tx, known, member, role, now);
    await saveLoginUse(tx, { ...at, grantedWorkspaceId: granted, now });
    const before = known?.granted_workspace_id ?? null;
    return { userId, grantGone: role === null && before === place.workspaceId, lowerTo };
  }

  /** By address only when the provider vouches for it, and never an account that is somebody else's there already. */
  async #linkedUser(tx: Sql, subject: Subject, place: Place, role: Role | null): Promise<string | null> {
    const { email, issuer } = subject;
    const { organizationId } = place;
    if (email === null) throw new SignInProblem("email_missing", "The provider sent no e-mail address.");
    if (!subject.emailVerified) {
      throw new SignInProblem(
        "email_unverified",
        "The provider does not confirm that the e-mail address is verified.",
      );
    }
    const user = await findUserByEmail(tx, { organizationId, email, issuer });
    if (user?.is_bootstrap || user?.has_login) {
      throw new SignInProblem("identity_taken", `User ${user.id} is not this subject of the provider.`);
    }
    if (user) return user.id;
    if (role === null) return null;
    const name = subject.name ?? email.split("@")[0]!;
    return keepUser(tx, { id: newId(), organizationId, email, name, now: this.#options.clock.now() });
  }

  /**
   * `granted` is the workspace whose membership the groups decide about from now on, null where it is none; `lowerTo` the
   * role an administrator is to have instead.
   */
  async #applyRole(
    tx: Sql,
    known: UserLogin | undefined,
    member: { workspaceId: string; userId: string },
    role: Role | null,
    now: Date,
  ): Promise<{ granted: string | null; lowerTo: Role | null }> {
    // Where groups give nothing, what an administrator gave stays; what groups gave is taken away after this.
    const before = known?.granted_workspace_id ?? null;
    if (role === null) return { granted: before, lowerTo: null };
    const membership = { ...member, role, now };
    if (await insertMembership(tx, membership)) return { granted: member.workspaceId, lowerTo: null };
    const present = await findMember(tx, member.workspaceId, member.userId);
    const granted = before ?? member.workspaceId;
    if (present?.role === role) return { granted, lowerTo: null };
    if (present?.role === "admin") return { granted, lowerTo: role };
    await saveMemberRole(tx, membership);
    return { granted, lowerTo: null };
  }

  async #lower(place: Place, userId: string, role: Role): Promise<void> {
    await this.#options.lowerRole(place, userId, role).catch((error: unknown) => {
      if (!(error instanceof AppError) || error.kind !== "conflict") throw error;
      this.#options.logger.warn(
        { user_id: userId, role, reason: error.message },
        "the groups of the last administrator give a lower role; they stay administrator until there is another",
      );
    });
  }

  async #takeAway(place: Place, userId: string, { issuer, subject }: Subject): Promise<void> {
    const { logger, changes, database, clock } = this.#options;
    const at = { organizationId: place.organizationId, issuer, subject };
    try {
      await this.#options.removeMember(place, userId);
    } catch (error) {
      const kind = error instanceof AppError ? error.kind : "internal";
      if (kind === "conflict") {
        logger.warn(
          { user_id: userId, reason: (error as AppError).message },
          "somebody without a group any more stays a member; their sessions end and the sign-in is refused",
        );
        await changes.apply((tx) => this.#options.endSessions(tx, userId));
        return;
      }
      if (kind !== "not_found") throw error;
    }
    await saveLoginUse(database.sql, { ...at, grantedWorkspaceId: null, now: clock.now() });
  }
}

function noRole(subject: Subject): SignInProblem {
  return new SignInProblem("no_role", `No role for the groups ${JSON.stringify(subject.groups)}.`);
}
