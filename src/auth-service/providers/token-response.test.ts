import { describe, expect, it } from "vitest";
import { conformTokenBody, readGrant, splitScopes } from "./token-response.ts";

const json = "application/json; charset=utf-8";
const conform = (value: unknown, status = 200) => {
  const { body, ...rest } = conformTokenBody(status, json, JSON.stringify(value));
  return { ...rest, body: JSON.parse(body) as Record<string, unknown> };
};

describe("conformTokenBody", () => {
  it("leaves an answer of RFC 6749 as it is", () => {
    const answer = {
      access_token: "a",
      token_type: "bearer",
      expires_in: 10,
      scope: "x y",
      refresh_token: "r",
    };
    expect(conform(answer)).toEqual({ status: 200, contentType: "application/json", body: answer });
  });

  it("reads form-encoded answers and errors with status 200", () => {
    const form = "application/x-www-form-urlencoded";
    const good = conformTokenBody(200, form, "access_token=a&scope=repo%2Cgist&token_type=bearer");
    expect(JSON.parse(good.body)).toEqual({ access_token: "a", scope: "repo,gist", token_type: "bearer" });
    expect(conformTokenBody(200, form, "error=bad_verification_code").status).toBe(400);
    expect(conform({ ok: false, error: "invalid_code" }).status).toBe(400);
    expect(conform({ error: "invalid_grant" }, 401).status).toBe(401);
  });

  it("finds a token one level down, mends types and drops empty values", () => {
    const answer = conform({
      ok: true,
      authed_user: { access_token: "user", token_type: "user", scope: "a,b" },
    });
    expect(answer.body).toMatchObject({ access_token: "user", token_type: "bearer", scope: "a,b" });
    const odd = { access_token: "a", scope: ["x", "y"], refresh_token: null, expires_in: 0 };
    expect(conform(odd).body).toEqual({ access_token: "a", token_type: "bearer", scope: "x y" });
    expect(conform({ access_token: "a", token_type: "DPoP" }).body.token_type).toBe("DPoP");
  });

  it.each(["<html>", "", "[]", "null", "7", "{{"])("leaves %j to be refused", (text) => {
    expect(conformTokenBody(200, json, text)).toEqual({ status: 200, body: text, contentType: json });
    expect(conformTokenBody(200, "text/html", '{"access_token":"a"}').contentType).toBe("text/html");
  });
});

describe("readGrant", () => {
  const idToken = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.`;

  it("names the account by the ID token, the team or the workspace", () => {
    const body = { access_token: "a" };
    expect(readGrant(body, idToken({ sub: "1", email: "ada@example.com" }))).toMatchObject({
      accountKey: "sub:1",
      accountLabel: "ada@example.com",
    });
    expect(readGrant({ ...body, team: { id: "T1", name: "Team" } }, undefined)).toMatchObject({
      accountKey: "team:T1",
      accountLabel: "Team",
    });
    expect(readGrant({ ...body, workspace_id: "w" }, undefined).accountKey).toBe("workspace:w");
    expect(readGrant(body, "not a token")).toMatchObject({ accountKey: null, accountLabel: null });
  });

  it("knows what the provider did not say", () => {
    const grant = readGrant({ access_token: "a" }, undefined);
    expect(grant).toMatchObject({ refreshToken: null, expiresInSeconds: null, scopes: null, metadata: {} });
    const full = readGrant(
      { access_token: "a", scope: "x,y x", expires_in: 5, instance_url: "https://i" },
      undefined,
    );
    expect(full).toMatchObject({
      scopes: ["x", "y"],
      expiresInSeconds: 5,
      metadata: { instance_url: "https://i" },
    });
  });
});

it("splits scopes at blanks and commas", () => {
  expect(splitScopes(" a,b  c\na ")).toEqual(["a", "b", "c"]);
  expect(splitScopes("")).toEqual([]);
});
