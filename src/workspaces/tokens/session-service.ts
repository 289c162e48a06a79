import { errors, jwtVerify, SignJWT } from "jose";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import { badCredential } from "../identity/api-key.ts";
import { findIdentityById } from "../identity/api-key-store.ts";
import { claimsOf, type SessionClaims, sessionClaims, sessionExpiry, sessionIssuer } from "./session.ts";
import { type SigningKeys, signingAlgorithm } from "./signing-key-service.ts";

type SessionServiceOptions = {
  database: Database;
  clock: Clock;
  signingKeys: SigningKeys;
};

/** Signed sessions that a key starts. */
export class SessionService {
  readonly #options: SessionServiceOptions;

  constructor(options: SessionServiceOptions) {
    this.#options = options;
  }

  async start(caller: Caller): Promise<{ token: string; expiresAt: Date }> {
    const { database, clock, signingKeys } = this.#options;
    const { via, apiKeyId } = caller;
    const key = via === "api_key" && apiKeyId ? await findIdentityById(database, apiKeyId) : undefined;
    if (!key) {
      throw new AppError({
        code: "session.needs_key",
        kind: "forbidden",
        message:
          "To start a session, send the API key of a person as X-Api-Key. Another session or a service key cannot start one.",
      });
    }
    const now = clock.now();
    const expiresAt = sessionExpiry(now, key.expires_at);
    const signer = await signingKeys.current();
    const token = await new SignJWT(claimsOf({ ...caller, apiKeyId: key.id }))
      .setProtectedHeader({ alg: signingAlgorithm, kid: signer.id, typ: "JWT" })
      .setIssuer(sessionIssuer)
      .setAudience(sessionIssuer)
      .setJti(newId())
      .setIssuedAt(now)
      .setExpirationTime(expiresAt)
      .sign(signer.privateKey);
    return { token, expiresAt };
  }

  /** Proves signature and age; whether the key behind it still stands is for the caller to check. */
  async verify(token: string): Promise<SessionClaims> {
    const { signingKeys, clock } = this.#options;
    try {
      const { payload } = await jwtVerify(
        token,
        async (header) => {
          const key = await signingKeys.publicKey(header.kid ?? "");
          if (!key) throw new errors.JWKSNoMatchingKey();
          return key;
        },
        {
          algorithms: [signingAlgorithm],
          issuer: sessionIssuer,
          audience: sessionIssuer,
          currentDate: clock.now(),
          requiredClaims: ["exp"],
        },
      );
      return sessionClaims.parse(payload);
    } catch (error) {
      if (error instanceof errors.JWTExpired) {
        throw badCredential("The session has expired. Start a new one with POST /v2/auth/sessions.");
      }
      if (error instanceof errors.JOSEError || (error instanceof Error && error.name === "ZodError")) {
        throw badCredential("The session token is not valid. Start a session with POST /v2/auth/sessions.");
      }
      throw error;
    }
  }
}
