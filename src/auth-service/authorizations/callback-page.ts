/**
 * The page to which a provider redirects people. It is the same bytes for everybody: what is in the address is read by
 * its script and never written into the page. Loading it binds nothing; the script finishes the consent with an
 * authenticated POST, so a link that somebody else made does nothing.
 */
export const callbackPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Connect an account - Treadle</title>
<link rel="stylesheet" href="./assets/callback.css">
<link rel="icon" href="data:,">
</head>
<body>
<main>
<h1 id="title">Connecting your account</h1>
<p id="message" role="status">One moment.</p>
<form id="credential" hidden>
<label for="key">API key of the user who started this</label>
<input id="key" type="password" autocomplete="off" required>
<label for="workspace">Workspace id, only if the key opens several</label>
<input id="workspace" type="text" autocomplete="off">
<button type="submit">Finish</button>
<p class="hint">Used once, and not kept.</p>
</form>
<noscript>This page needs JavaScript to finish the connection.</noscript>
</main>
<script src="./assets/callback.js" defer></script>
</body>
</html>
`;

export const callbackStyle = `:root { color-scheme: light dark; font-family: system-ui, sans-serif;
  --paper: light-dark(#faf7f1, #191816); --card: light-dark(#fffdf9, #211f1c); --line: light-dark(#b9ad97, #5c564a);
  --ink: light-dark(#26231e, #ece6da); --ink-2: light-dark(#5d574d, #aaa294);
  --accent: light-dark(#1f5f5b, #7cc4b6); --accent-ink: light-dark(#ffffff, #0f2421); }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--paper); color: var(--ink); }
main { box-sizing: border-box; width: min(26rem, 100vw - 2rem); padding: 2rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 12px; }
h1 { font-size: 1.4rem; margin: 0 0 0.5rem; }
p { line-height: 1.5; margin: 0; }
label { display: block; margin: 0.75rem 0 0.25rem; font-size: 0.9rem; font-weight: 600; }
input { box-sizing: border-box; width: 100%; padding: 0.5rem; font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--line); border-radius: 8px; }
button { margin-top: 1rem; padding: 0.5rem 1.25rem; font: inherit; font-weight: 600; cursor: pointer;
  color: var(--accent-ink); background: var(--accent); border: 0; border-radius: 8px; }
input:focus-visible, button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.hint { font-size: 0.85rem; color: var(--ink-2); margin-top: 0.75rem; }
`;

/** Every text the page can show is in here: nothing of an answer or of the address is shown. */
export const callbackScript = `"use strict";
(() => {
  const element = (id) => document.getElementById(id);
  const query = new URLSearchParams(location.search);
  const answer = {};
  for (const name of ["code", "state", "iss", "error"]) {
    const value = query.get(name);
    if (value) answer[name] = value;
  }
  // The code must not stay in the address bar, the history or a screenshot.
  history.replaceState(null, "", location.pathname);

  const show = (title, message) => {
    document.title = title + " - Treadle";
    element("title").textContent = title;
    element("message").textContent = message;
  };
  const askForKey = (message) => {
    show("One more step", message);
    element("credential").hidden = false;
    element("key").focus();
  };
  const target = () => {
    const parts = location.pathname.split("/host-oauth-callback/");
    return parts.length === 2
      ? parts[0] + "/v2/auth/callback/" + parts[1]
      : location.pathname.replace("/v2/auth/setup/", "/v2/auth/callback/");
  };
  // Earlier versions kept keys where every script of this host can read them.
  sessionStorage.removeItem("treadle.api-key");
  sessionStorage.removeItem("treadle.workspace-id");

  // Whoever is signed in is known by a cookie; the header proves that this is the server's own page. A key goes first.
  const finish = async (key, keyWorkspace) => {
    const headers = { "content-type": "application/json", "x-treadle-console": "1" };
    const workspace = key ? keyWorkspace : sessionStorage.getItem("treadle.console.workspace");
    if (key) headers["x-api-key"] = key;
    if (workspace) headers["x-tenant-id"] = workspace;
    show("Connecting your account", "One moment.");
    let response;
    try {
      response = await fetch(target(), {
        method: "POST",
        headers,
        body: JSON.stringify(answer),
        credentials: "same-origin",
        redirect: "error",
      });
    } catch {
      show("No connection", "The server did not answer. Check your connection and reload the page you came from.");
      return;
    }
    if (response.ok) {
      show("Account connected", "You can close this page and go back to where you came from.");
    } else if (response.status === 401) {
      askForKey(key ? "That key is not known here. Enter another one." : "Sign in to the console and start again, or enter your API key to finish the connection.");
    } else if (response.status === 403) {
      askForKey("This connection was started by another user, or the key belongs to several workspaces. Enter the key of the user who started it.");
    } else if (response.status === 400 && answer.error === "access_denied") {
      show("Not connected", "You did not give your consent, so nothing was connected. You can close this page.");
    } else if (response.status === 400 || response.status === 404) {
      show("Not connected", "This connection is not known, has expired, or was refused by the provider. Start again from where you came.");
    } else {
      show("Not connected", "The provider did not complete the connection. Start again from where you came.");
    }
  };

  element("credential").addEventListener("submit", (event) => {
    event.preventDefault();
    const key = element("key").value.trim();
    const workspace = element("workspace").value.trim();
    element("key").value = "";
    element("credential").hidden = true;
    finish(key, workspace);
  });

  if (!answer.state || (!answer.code && !answer.error)) {
    show("Nothing to do", "There is no connection to finish here. You can close this page.");
    return;
  }
  finish();
})();
`;

/** Stricter than other pages: no inline style, no image, no frame, and no form that goes anywhere. */
export const callbackPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
