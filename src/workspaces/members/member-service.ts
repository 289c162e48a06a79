import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller, Role } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import { revokeMemberKeys } from "../identity/api-key-store.ts";
import type { IdentityChanges } from "../identity/identity-change-service.ts";
import { type Member, memberNotFound } from "../identity/member.ts";
import {
  deleteMembership,
  findMember,
  insertMembership,
  keepUser,
  listMembers,
  saveMemberRole,
} from "../identity/member-store.ts";

type MemberServiceOptions = {
  database: Database;
  clock: Clock;
  changes: IdentityChanges;
  /** Other areas release what they keep for the user, in the same transaction. */
  onRemove: (tx: Sql, member: { workspaceId: string; userId: string }) => Promise<void>;
};

/** The members of a workspace and their roles. */
export class MemberService {
  readonly #options: MemberServiceOptions;

  constructor(options: MemberServiceOptions) {
    this.#options = options;
  }

  list(caller: Caller, page: { limit: number; offset: number }): Promise<Member[]> {
    return listMembers(this.#options.database.sql, caller.workspaceId, page);
  }

  get(caller: Caller, userId: string): Promise<Member> {
    return this.#existing(this.#options.database.sql, caller, userId);
  }

  add(caller: Caller, request: { email: string; name?: string | undefined; role: Role }): Promise<Member> {
    const { clock, changes } = this.#options;
    const now = clock.now();
    const { workspaceId, organizationId } = caller;
    return changes.apply(async (tx) => {
      const name = request.name ?? request.email.split("@")[0]!;
      const userId = await keepUser(tx, { id: newId(), organizationId, email: request.email, name, now });
      const added = await insertMembership(tx, { workspaceId, userId, role: request.role, now });
      if (!added) {
        throw new AppError({
          code: "member.exists",
          kind: "conflict",
          message: `${request.email} is already a member of this workspace. Change the role of user ${userId} instead.`,
        });
      }
      return this.#existing(tx, caller, userId);
    });
  }

  changeRole(caller: Caller, userId: string, role: Role): Promise<Member> {
    const { clock, changes } = this.#options;
    const now = clock.now();
    return changes.applyKeepingAdmin(
      {
        organizationId: caller.organizationId,
        now,
        refusal:
          "This user holds the last key that administers the workspace, so the role cannot be lowered.",
      },
      async (tx) => {
        await this.#existing(tx, caller, userId);
        await saveMemberRole(tx, { workspaceId: caller.workspaceId, userId, role, now });
        return this.#existing(tx, caller, userId);
      },
    );
  }

  async remove(caller: Caller, userId: string): Promise<void> {
    const { clock, changes } = this.#options;
    const now = clock.now();
    await changes.applyKeepingAdmin(
      {
        organizationId: caller.organizationId,
        now,
        refusal: "This user holds the last key that administers the workspace and cannot be removed.",
      },
      async (tx) => {
        await this.#existing(tx, caller, userId);
        await deleteMembership(tx, caller.workspaceId, userId);
        await revokeMemberKeys(tx, caller.workspaceId, userId, now);
        await this.#options.onRemove(tx, { workspaceId: caller.workspaceId, userId });
      },
    );
  }

  async #existing(sql: Sql, caller: Caller, userId: string): Promise<Member> {
    const member = await findMember(sql, caller.workspaceId, userId);
    if (!member) throw memberNotFound(userId);
    return member;
  }
}
