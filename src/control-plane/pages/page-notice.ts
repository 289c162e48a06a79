import { escapeHtml } from "../../platform/http/escape-html.ts";

/** What a browser is answered by the platform at the origin of a deployment. */
export type PageAnswer = { status: number; headers: string[]; body: string };

const policy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const style = `:root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}
body{max-width:34rem;margin:15vh auto;padding:0 1.5rem}h1{font-size:1.4rem}`;

/** Nothing of it is stored, and its address is not sent to the page it links to. */
const unkept = ["cache-control", "no-store", "referrer-policy", "no-referrer"];

/** A page for a person, with a way on. `path` is one of this origin. */
export function pageNotice(
  status: number,
  notice: { title: string; text: string; path: string },
): PageAnswer {
  const { title, text, path } = notice;
  const body = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p><p><a href="${escapeHtml(path)}">Open the page again</a></p></main></body></html>
`;
  return {
    status,
    headers: [
      ...["content-type", "text/html; charset=utf-8"],
      ...["content-security-policy", policy],
      ...["x-frame-options", "DENY"],
      ...unkept,
    ],
    body,
  };
}

export function redirectTo(location: string, cookie: string): PageAnswer {
  return { status: 303, headers: ["location", location, "set-cookie", cookie, ...unkept], body: "" };
}
