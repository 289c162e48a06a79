import { hostnameOf, isLoopbackHostname } from "../../platform/http/access/loopback.ts";

const slugPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const place = "{slug}";

export type DeploymentOriginsOptions = {
  /** The pattern, or null where there is none. */
  pattern(): string | null;
  /** The platform's own address; its host is never a deployment's. */
  platformUrl(): string;
};

/** Where a deployment's pages have an origin of their own, for example `https://{slug}.agents.example.com`. */
export class DeploymentOrigins {
  readonly #options: DeploymentOriginsOptions;
  #known: { pattern: string | null; platformUrl: string; rule: Rule | null } | undefined;

  constructor(options: DeploymentOriginsOptions) {
    this.#options = options;
  }

  /** Whose host this is: null for the platform's, an empty slug for one that can be nobody's. */
  slugOf(host: string | undefined): string | null {
    const rule = this.#rule();
    return rule === null || host === undefined ? null : slugIn(host, rule);
  }

  /** Null where deployments have no origin of their own. */
  urlOf(slug: string): string | null {
    const rule = this.#rule();
    return rule !== null && slugPattern.test(slug) && slug.length <= rule.maxSlug
      ? rule.url.replace(place, slug)
      : null;
  }

  /** The same as browsers write it in `Origin`. */
  originOf(slug: string): string | null {
    const url = this.urlOf(slug);
    return url === null ? null : new URL(url).origin;
  }

  /** Pages of a deployment are strangers to the platform, also on the platform's own machine. */
  isDeploymentOrigin(origin: string): boolean {
    const rule = this.#rule();
    const host = /^https?:\/\/([^/?#@]+)$/i.exec(origin)?.[1];
    return rule !== null && host !== undefined && slugIn(host, rule) !== null;
  }

  /** By which scheme a client reached us at this host; `prefix` is empty at an origin of a deployment's own. */
  protocolOf(host: string | undefined, prefix: string): "http" | "https" {
    if (prefix === "") return this.#rule()?.url.startsWith("https:") ? "https" : "http";
    const { protocol, hostname } = new URL(this.#options.platformUrl());
    // Whoever is on this machine may have come past the proxy that speaks TLS for us.
    const isDirect = !isLoopbackHostname(hostname) && isLoopbackHostname(hostnameOf(host ?? "") ?? "");
    return protocol === "https:" && !isDirect ? "https" : "http";
  }

  #rule(): Rule | null {
    const pattern = this.#options.pattern();
    const platformUrl = this.#options.platformUrl();
    if (this.#known?.pattern !== pattern || this.#known?.platformUrl !== platformUrl) {
      const rule = pattern === null ? null : readRule(pattern, platformUrl);
      this.#known = { pattern, platformUrl, rule };
    }
    return this.#known.rule;
  }
}

type Rule = { url: string; before: string; after: string; platformHost: string; maxSlug: number };

function readRule(pattern: string, platformUrl: string): Rule {
  const url = pattern.replace(/\/+$/, "");
  const host = url.replace(/^https?:\/\//i, "").replace(/:\d+$/, "");
  const [before = "", after = ""] = host.toLowerCase().split(place);
  const label = before.length + after.indexOf(".");
  return { url, before, after, platformHost: new URL(platformUrl).hostname, maxSlug: 63 - label };
}

function slugIn(host: string, rule: Rule): string | null {
  const hostname = hostnameOf(host)?.toLowerCase().replace(/\.$/, "");
  if (hostname === undefined || !hostname.endsWith(rule.after) || !hostname.startsWith(rule.before))
    return null;
  if (hostname === rule.platformHost || hostname.length <= rule.before.length + rule.after.length)
    return null;
  const slug = hostname.slice(rule.before.length, hostname.length - rule.after.length);
  return slugPattern.test(slug) ? slug : "";
}
