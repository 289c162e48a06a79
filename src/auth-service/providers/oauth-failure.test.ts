import * as oauth from "oauth4webapi";
import { describe, expect, it } from "vitest";
import { AppError } from "../../platform/errors.ts";
import { describeOAuthFailure, OAuthFailure } from "./oauth-failure.ts";

const context = { host: "provider.example", step: "the refresh of a token", secrets: ["s3cret-value"] };

/** As the library itself makes it of an answer. */
async function bodyError(status: number, body: unknown): Promise<unknown> {
  const response = new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json" },
  });
  const server = { issuer: "https://provider.example", token_endpoint: "https://provider.example/token" };
  return oauth
    .processRefreshTokenResponse(server, { client_id: "c" }, response)
    .catch((error: unknown) => error);
}
const describeAnswer = async (status: number, body: unknown) => {
  const failure = describeOAuthFailure(await bodyError(status, body), context);
  expect(failure).toBeInstanceOf(OAuthFailure);
  return failure as OAuthFailure;
};

describe("describeOAuthFailure", () => {
  it.each([
    ["grant", 400, { error: "invalid_grant" }, false],
    ["grant", 400, { error: "bad_refresh_token" }, false],
    ["refused", 400, { error: "invalid_client" }, false],
    ["unreachable", 503, { error: "temporarily_unavailable" }, true],
    ["unreachable", 500, "oops", true],
    ["unusable", 200, { access_token: 7 }, true],
    ["unusable", 404, "not here", true],
  ])("%s: status %i", async (kind, status, body, retryable) => {
    const failure = await describeAnswer(status, body);
    expect(failure).toMatchObject({ failure: kind, kind: "bad_gateway", retryable });
    expect(failure.cause).toBeUndefined();
  });

  it.each([
    [500, "oops"],
    [502, { error: "server_error" }],
    [503, { error: "temporarily_unavailable" }],
  ])("a provider's %i is called a provider's %i, not a wrong address", async (status, body) => {
    const failure = await describeAnswer(status, body);
    expect(failure.code).toBe("oauth.provider_failed");
    expect(failure.message).toContain(
      `provider.example failed: it answered the refresh of a token with status ${status}`,
    );
    expect(failure.message).not.toContain("addresses");
  });

  it("passes a plain explanation on, and nothing that looks like a secret", async () => {
    const messageFor = async (error_description: string) =>
      (await describeAnswer(400, { error: "invalid_request", error_description })).message;
    expect(await messageFor("redirect_uri mismatch")).toContain("(redirect_uri mismatch)");
    for (const text of ["bad s3cret-value", "token eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9 is bad"]) {
      expect(await messageFor(text)).toBe(
        "provider.example refused the refresh of a token: invalid_request.",
      );
    }
    const odd = await describeAnswer(400, { error: "<script>alert(1)</script>" });
    expect(odd.message).not.toContain("<script>");
  });

  it("lets the guard speak for itself, and does not hide a defect", () => {
    const refused = new AppError({ code: "network.address_refused", kind: "invalid", message: "private" });
    expect(describeOAuthFailure(refused, context)).toBe(refused);
    expect(() => describeOAuthFailure(new Error("a defect"), context)).toThrow("a defect");
  });
});
