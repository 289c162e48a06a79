import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type Provider from "oidc-provider";
import type { InteractionDetails } from "oidc-provider";

export interface OAuthAccount {
  username: string;
  password: string;
  claims?: Record<string, unknown>;
}

export interface InteractionOptions {
  accounts: OAuthAccount[];
  /** The account that signs in and allows everything by itself; without it a person fills in the pages. */
  automaticAccount?: string;
}

const escapeHtml = (value: string) => value.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1>${body}</html>`;
}

function loginPage(problem: string): string {
  return page(
    "Sign in",
    `<form method="post">${problem && `<p role="alert">${escapeHtml(problem)}</p>`}
<label>User name <input name="username" required></label>
<label>Password <input name="password" type="password" required></label>
<button name="action" value="login">Sign in</button></form>`,
  );
}

function consentPage(details: InteractionDetails): string {
  const scopes = (details.params.scope ?? "").split(" ").filter(Boolean);
  return page(
    "Allow access",
    `<p><b>${escapeHtml(details.params.client_id ?? "")}</b> asks for:</p>
<ul>${scopes.map((scope) => `<li>${escapeHtml(scope)}</li>`).join("")}</ul>
<form method="post"><button name="action" value="allow">Allow</button>
<button name="action" value="deny">Deny</button></form>`,
  );
}

async function grantMissing(provider: Provider, details: InteractionDetails, accountId: string) {
  const existing = details.grantId ? await provider.Grant.find(details.grantId) : undefined;
  const grant = existing ?? new provider.Grant({ accountId, clientId: details.params.client_id ?? "" });
  const { missingOIDCScope, missingOIDCClaims } = details.prompt.details;
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(" "));
  if (missingOIDCClaims) grant.addOIDCClaims(missingOIDCClaims);
  return { consent: { grantId: await grant.save() } };
}

/** The sign-in and consent steps of the authorization request, at `/interaction/:uid`. */
export function createInteractionHandler(provider: Provider, options: InteractionOptions) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const details = await provider.interactionDetails(request, response);
    const finish = (result: Record<string, unknown>) =>
      provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
    const show = (html: string, status = 200) =>
      response.writeHead(status, { "content-type": "text/html; charset=utf-8" }).end(html);
    const isLogin = details.prompt.name === "login";
    const accountId = details.session?.accountId ?? "";

    if (options.automaticAccount) {
      return isLogin
        ? await finish({ login: { accountId: options.automaticAccount } })
        : await finish(await grantMissing(provider, details, accountId));
    }
    if (request.method !== "POST") {
      show(isLogin ? loginPage("") : consentPage(details));
      return;
    }
    const form = new URLSearchParams(await text(request));
    const action = form.get("action");
    if (isLogin) {
      const known = options.accounts.find(
        ({ username, password }) => username === form.get("username") && password === form.get("password"),
      );
      if (known) await finish({ login: { accountId: known.username } });
      else show(loginPage("Wrong user name or password."), 401);
    } else if (action === "allow") {
      await finish(await grantMissing(provider, details, accountId));
    } else {
      await finish({ error: "access_denied", error_description: "The user denied access." });
    }
  };
}
