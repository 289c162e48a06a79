import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { sameText } from "../../platform/encryption/same-text.ts";
import { AppError } from "../../platform/errors.ts";
import { badCredential, isExpired } from "../identity/api-key.ts";
import type { ApiKeyHasher } from "../identity/api-key-hasher.ts";
import { findIdentityByHash } from "../identity/api-key-store.ts";
import type { ConsoleSession } from "../sessions/console-session.ts";
import type { ConsoleSessions } from "../sessions/console-session-service.ts";
import { findPerson, findUser } from "../sessions/console-session-store.ts";
import type { SignInCodes } from "./sign-in-code-service.ts";

/** The browser a user signs in from. */
export type Browser = { userAgent: string | null; address: string | undefined; presented: string | null };

export type SignedIn = { secret: string; session: ConsoleSession };

type SignInServiceOptions = {
  database: Database;
  clock: Clock;
  hasher: ApiKeyHasher;
  sessions: ConsoleSessions;
  codes: SignInCodes;
  /** False: people sign in at the provider only. */
  keysMaySignIn: boolean;
};

/** Starts sessions for who brings a key or a code. */
export class SignInService {
  readonly #options: SignInServiceOptions;

  constructor(options: SignInServiceOptions) {
    this.#options = options;
  }

  async withKey(key: string, browser: Browser): Promise<SignedIn> {
    const { hasher, database, clock, sessions } = this.#options;
    if (!this.#options.keysMaySignIn) {
      throw new AppError({
        code: "sign_in.provider_required",
        kind: "forbidden",
        message:
          "You cannot sign in with a key here: TREADLE_OIDC_REQUIRED is set. Sign in with your provider.",
      });
    }
    const hash = await hasher.hash(key);
    const identity = await findIdentityByHash(database, hash);
    if (!identity || !sameText(identity.hash, hash)) {
      throw badCredential("The server does not know this key. Check that it is complete.");
    }
    if (isExpired(identity.expires_at, clock.now())) {
      throw badCredential("This key has expired. Use another one.");
    }
    if (identity.user_id === null) {
      throw new AppError({
        code: "sign_in.service_key",
        kind: "forbidden",
        message: "This is the key of a service, and the console is for people. Use the key of a person.",
      });
    }
    return sessions.start({
      organizationId: identity.organization_id,
      userId: identity.user_id,
      workspaceId: identity.memberships[0]?.workspace_id ?? null,
      apiKey: { id: identity.id, expiresAt: identity.expires_at },
      method: "key",
      userAgent: browser.userAgent,
      address: browser.address,
      replaces: browser.presented,
    });
  }

  /** Refused with 409 while somebody else is signed in, unless `replace` is set, which signs them out. */
  async withCode(text: string, browser: Browser, replace: boolean): Promise<SignedIn> {
    const { codes, database, sessions } = this.#options;
    const code = await codes.find(text);
    const person = code && (await findPerson(database, code.user_id));
    if (!code || !person) throw usedUp();
    const present = browser.presented === null ? undefined : await sessions.find(browser.presented);
    if (present && present.user_id !== code.user_id && !replace) {
      const [now, next] = await Promise.all(
        [present.user_id, code.user_id].map((id) => findUser(database.sql, id)),
      );
      throw new AppError({
        code: "sign_in.somebody_else",
        kind: "conflict",
        message: `You are signed in as ${now?.email}. This link signs in ${next?.email}.`,
      });
    }
    if (!(await codes.use(code.id))) throw usedUp();
    return sessions.start({
      organizationId: code.organization_id,
      userId: code.user_id,
      workspaceId: person.memberships[0]?.workspace_id ?? null,
      apiKey: null,
      method: "link",
      userAgent: browser.userAgent,
      address: browser.address,
      replaces: browser.presented,
    });
  }
}

function usedUp(): AppError {
  return badCredential(
    "This link was already used, is too old, or was replaced by a newer one. If you were invited, ask for a new link. On the server's own machine, run: treadle login-link",
  );
}
