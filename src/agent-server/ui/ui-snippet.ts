import { hostnameOf, isLoopbackHostname } from "../../platform/http/access/loopback.ts";
import { globalNameOf, type UiBundle } from "./ui-bundle.ts";

/** Filled in by the client, which looks for exactly this. */
const shadowRootId = "{{shadowRootId}}";

export type SnippetOptions = {
  /** The name in the project file. */
  name: string;
  component: string;
  bundle: UiBundle;
};

/** Tags that have the browser load the files: for pages that need no credential to do so. */
export function linkedSnippet({ name, component, bundle }: SnippetOptions, base: string): string {
  const urlOf = (file: string) => escapeAttribute(`${base}/ui/${encodeURIComponent(name)}/${file}`);
  const call = escapeAttribute(renderCall(name, component), "'");
  const script = `<script src="${urlOf(bundle.script.name)}" onload='${call}'></script>`;
  return bundle.style ? `<link rel="stylesheet" href="${urlOf(bundle.style.name)}" />\n${script}` : script;
}

/** The files themselves: a tag cannot send a key, and a link with one in it would be a key. */
export function inlineSnippet({ name, component, bundle }: SnippetOptions): string {
  const call = renderCall(name, component);
  const text = `${bundle.script.text}\n${call};`
    .replace(/<\/(script)/gi, "<\\/$1")
    .replaceAll("<!--", "<\\!--");
  const script = `<script>${text}</script>`;
  return bundle.style
    ? `<style>${bundle.style.text.replace(/<\/(style)/gi, "<\\/$1")}</style>\n${script}`
    : script;
}

function renderCall(name: string, component: string): string {
  const text = JSON.stringify(component).replaceAll("<", "\\u003c");
  return `${globalNameOf(name)}.render(${text}, "${shadowRootId}")`;
}

function escapeAttribute(text: string, quote = '"'): string {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return escaped.replaceAll(quote, quote === "'" ? "&#39;" : "&quot;");
}

/** Where the page that asks reaches this server. */
export function baseUrlOf(headers: Headers, urlHost: string, mountPrefix: string): string {
  const host = headers.get("x-forwarded-host") ?? headers.get("host") ?? urlHost;
  const prefix = headers.get("x-forwarded-prefix") ?? mountPrefix;
  const hostname = hostnameOf(host);
  const given = headers.get("x-forwarded-proto");
  // Without a given scheme it is the page's own, except on loopback, which has no certificate.
  const fallback = hostname !== null && isLoopbackHostname(hostname) ? "http:" : "";
  const scheme = given === "http" || given === "https" ? `${given}:` : fallback;
  return `${scheme}//${host}${prefix.replace(/\/+$/, "")}`;
}

/** A tag of such a page is answered without a credential: it sends no Origin, and its site is this one. */
export function isOfThisSite(headers: Headers, urlHost: string): boolean {
  const origin = headers.get("origin") ?? headers.get("x-forwarded-origin");
  if (origin === null) return true;
  const page = URL.parse(origin);
  const host = headers.get("x-forwarded-host") ?? headers.get("host") ?? urlHost;
  return page?.protocol === "http:" && page.hostname === hostnameOf(host);
}
