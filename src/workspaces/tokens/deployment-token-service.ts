import { errors, jwtVerify, SignJWT } from "jose";
import type { Clock } from "../../platform/clock.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { badCredential } from "../identity/api-key.ts";
import {
  type DeploymentTokenClaims,
  deploymentTokenAudience,
  deploymentTokenClaims,
  deploymentTokenLifetimeMs,
  withoutPrefix,
  withPrefix,
} from "./deployment-token.ts";
import { sessionIssuer } from "./session.ts";
import { type SigningKeys, signingAlgorithm } from "./signing-key-service.ts";

type DeploymentTokensOptions = {
  clock: Clock;
  signingKeys: SigningKeys;
};

/** Short-lived tokens by which the console calls a deployment for its person. */
export class DeploymentTokens {
  readonly #options: DeploymentTokensOptions;

  constructor(options: DeploymentTokensOptions) {
    this.#options = options;
  }

  /** A token with the caller's rights for this one deployment, which must be of the caller's workspace. */
  async issue(
    caller: Caller,
    deploymentId: string,
    page?: { origin: string; lifetimeMs: number },
  ): Promise<{ token: string; expiresAt: Date }> {
    const { clock, signingKeys } = this.#options;
    const { sessionId, apiKeyId } = caller;
    if (sessionId === undefined && apiKeyId === undefined) {
      throw new AppError({
        code: "deployment_token.needs_credential",
        kind: "forbidden",
        message: "To get a token for a deployment, use an API key or a console session. Sign in first.",
      });
    }
    const now = clock.now();
    const expiresAt = new Date(now.getTime() + (page?.lifetimeMs ?? deploymentTokenLifetimeMs));
    const signer = await signingKeys.current();
    const claims: DeploymentTokenClaims = {
      sub: caller.userId,
      organization_id: caller.organizationId,
      workspace_id: caller.workspaceId,
      deployment_id: deploymentId,
      role: caller.role,
      ...(sessionId === undefined ? { key_id: apiKeyId } : { session_id: sessionId }),
      ...(page === undefined ? {} : { page_origin: page.origin }),
    };
    const jwt = await new SignJWT(claims)
      .setProtectedHeader({ alg: signingAlgorithm, kid: signer.id, typ: "JWT" })
      .setIssuer(sessionIssuer)
      .setAudience(deploymentTokenAudience)
      .setIssuedAt(now)
      .setExpirationTime(expiresAt)
      .sign(signer.privateKey);
    return { token: withPrefix(jwt), expiresAt };
  }

  /** Proves signature and age; whether what it was made with still stands is for the caller to check. */
  async verify(token: string): Promise<DeploymentTokenClaims> {
    const { signingKeys, clock } = this.#options;
    try {
      const { payload } = await jwtVerify(
        withoutPrefix(token),
        async (header) => {
          const key = await signingKeys.publicKey(header.kid ?? "");
          if (!key) throw new errors.JWKSNoMatchingKey();
          return key;
        },
        {
          algorithms: [signingAlgorithm],
          issuer: sessionIssuer,
          audience: deploymentTokenAudience,
          currentDate: clock.now(),
          requiredClaims: ["exp"],
        },
      );
      return deploymentTokenClaims.parse(payload);
    } catch (error) {
      if (error instanceof errors.JOSEError || (error instanceof Error && error.name === "ZodError")) {
        throw badCredential(
          "The token of the deployment is not valid or has expired. Get a new one with POST /v2/deployments/{deployment_id}/tokens.",
        );
      }
      throw error;
    }
  }
}
