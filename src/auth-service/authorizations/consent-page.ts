import { callbackStyle } from "./callback-page.ts";

export const consentPagePath = "/v2/auth/consent";

/** Safe to show in a thread: only the person whose consent is asked for can continue from this page. */
export function consentPageUrl(publicUrl: string, authId: string): string {
  return `${publicUrl}${consentPagePath}/${authId}`;
}

/** The same bytes for everybody; the script requests the provider's URL as the person who is signed in. */
export const consentPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Connect an account - Treadle</title>
<link rel="stylesheet" href="./assets/consent.css">
<link rel="icon" href="data:,">
</head>
<body>
<main>
<h1 id="title">Connect an account</h1>
<p id="message" role="status">One moment.</p>
<form id="credential" hidden>
<label for="key">API key of the user who is asked</label>
<input id="key" type="password" autocomplete="off" required>
<label for="workspace">Workspace id, only if the key opens several</label>
<input id="workspace" type="text" autocomplete="off">
<button type="submit">Go on</button>
<p class="hint">Used once, and not kept.</p>
</form>
<noscript>This page needs JavaScript to lead on.</noscript>
</main>
<script src="./assets/consent.js" defer></script>
</body>
</html>
`;

export const consentStyle = callbackStyle;

/** Every text the page can show is in here. */
export const consentScript = `"use strict";
(() => {
  const element = (id) => document.getElementById(id);
  const show = (title, message) => {
    document.title = title + " - Treadle";
    element("title").textContent = title;
    element("message").textContent = message;
  };
  const askForKey = (message) => {
    show("Who are you?", message);
    element("credential").hidden = false;
    element("key").focus();
  };

  // Whoever is signed in is known by a cookie; the header proves that this is the server's own page. A key goes first.
  const leadOn = async (key, keyWorkspace) => {
    const headers = { "x-treadle-console": "1" };
    const workspace = key ? keyWorkspace : sessionStorage.getItem("treadle.console.workspace");
    if (key) headers["x-api-key"] = key;
    if (workspace) headers["x-tenant-id"] = workspace;
    let response;
    let consent;
    try {
      response = await fetch(location.pathname.replace("/v2/auth/consent/", "/v2/auth/authorizations/"), {
        headers,
        credentials: "same-origin",
        redirect: "error",
      });
      consent = await response.json();
    } catch {
      show("No connection", "The server did not answer. Check your connection and reload this page.");
      return;
    }
    if (response.status === 401) {
      askForKey(key ? "That key is not known here. Enter another one." : "Sign in to the console and open this page again, or enter your API key.");
    } else if (response.status === 403) {
      askForKey("Your key may not connect accounts, or belongs to several workspaces. Enter another one.");
    } else if (!response.ok) {
      show("Not found", "This consent is not known, or another user was asked for it.");
    } else if (consent.url && /^https?:\\/\\//.test(consent.url)) {
      location.replace(consent.url);
    } else if (consent.status === "completed") {
      show("Account connected", "There is nothing left to do. You can close this page.");
    } else {
      show("Too late", "This consent was refused, or has expired. Go back to where you came from and start again.");
    }
  };

  element("credential").addEventListener("submit", (event) => {
    event.preventDefault();
    const key = element("key").value.trim();
    const workspace = element("workspace").value.trim();
    element("key").value = "";
    element("credential").hidden = true;
    leadOn(key, workspace);
  });
  leadOn();
})();
`;
