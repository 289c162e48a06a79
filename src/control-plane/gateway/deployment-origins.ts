import { hostnameOf, isLoopbackHostname } from "../../platform/http/access/loopback.ts";

const slugPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const place = "{slug}";

export type DeploymentOriginsOptions = {
  /** The pattern, or null where there is none. */
  pattern(): string | null;
  /** The platform's own address; its host is never a deployment's. */
  platformUrl(): string;
  /** Hosts that deployments were given one by one. */
  domains?: { slugOf(hostname: string): string | null; domainsOf(slug: string): string[] };
};

/**
 * Where a deployment has an origin of its own: one made of its slug, for example `https://{slug}.agents.example.com`, and
 * its domains, which have the scheme and the port of the platform's own address.
 */
export class DeploymentOrigins {
  readonly #options: DeploymentOriginsOptions;
  #known: Known | undefined;

  constructor(options: DeploymentOriginsOptions) {
    this.#options = options;
  }

  /**
   * The deployment of this host: null for the platform's host, an empty slug for a host that no deployment can have.
   */
  slugOf(host: string | undefined): string | null {
    const hostname = plainHostname(host);
    const { rule, platform } = this.#read();
    if (hostname === null || hostname === platform.hostname) return null;
    const slug = rule && slugIn(hostname, rule);
    return slug ?? this.#options.domains?.slugOf(hostname) ?? null;
  }

  /** Made of its slug. Null where deployments have none. */
  urlOf(slug: string): string | null {
    const { rule } = this.#read();
    return rule !== null && slugPattern.test(slug) && slug.length <= rule.maxSlug
      ? rule.url.replace(place, slug)
      : null;
  }

  urlOfDomain(domain: string): string {
    const { protocol, port } = this.#read().platform;
    return `${protocol}//${domain}${port === "" ? "" : `:${port}`}`;
  }

  /** The origin by which this host was asked, as browsers write it in `Origin`. */
  originAt(host: string | undefined, slug: string): string | null {
    const domain = this.#domainIn(host);
    return domain === null ? this.#originOf(slug) : this.urlOfDomain(domain);
  }

  /** All that the deployment has now. */
  originsOf(slug: string): string[] {
    const domains = this.#options.domains?.domainsOf(slug) ?? [];
    const own = this.#originOf(slug);
    return [...(own === null ? [] : [own]), ...domains.map((domain) => this.urlOfDomain(domain))];
  }

  /** Hosts that no deployment can be given. */
  reserved(): { platform: string; deploymentsBase: string | null } {
    const { rule, platform } = this.#read();
    const deploymentsBase = rule?.after.slice(rule.after.indexOf(".") + 1) ?? null;
    return { platform: platform.hostname, deploymentsBase };
  }

  /** Pages of a deployment are strangers to the platform, also on the platform's own machine. */
  isDeploymentOrigin(origin: string): boolean {
    const host = /^https?:\/\/([^/?#@]+)$/i.exec(origin)?.[1];
    return host !== undefined && this.slugOf(host) !== null;
  }

  /** By which scheme a client reached us at this host; `prefix` is empty at an origin of a deployment's own. */
  protocolOf(host: string | undefined, prefix: string): "http" | "https" {
    const { rule, platform } = this.#read();
    if (prefix === "" && this.#domainIn(host) === null)
      return rule?.url.startsWith("https:") ? "https" : "http";
    // A request from this machine may have bypassed the proxy that terminates TLS.
    const isDirect =
      !isLoopbackHostname(platform.hostname) && isLoopbackHostname(hostnameOf(host ?? "") ?? "");
    return platform.protocol === "https:" && !isDirect ? "https" : "http";
  }

  #originOf(slug: string): string | null {
    const url = this.urlOf(slug);
    return url === null ? null : new URL(url).origin;
  }

  /** Null if the host is named after the deployment, or belongs to no deployment. */
  #domainIn(host: string | undefined): string | null {
    const hostname = plainHostname(host);
    const { rule, platform } = this.#read();
    if (hostname === null || hostname === platform.hostname) return null;
    if (rule !== null && slugIn(hostname, rule) !== null) return null;
    return (this.#options.domains?.slugOf(hostname) ?? null) === null ? null : hostname;
  }

  #read(): Known {
    const pattern = this.#options.pattern();
    const platformUrl = this.#options.platformUrl();
    if (this.#known?.pattern !== pattern || this.#known?.platformUrl !== platformUrl) {
      const rule = pattern === null ? null : readRule(pattern);
      this.#known = { pattern, platformUrl, platform: new URL(platformUrl), rule };
    }
    return this.#known;
  }
}

type Rule = { url: string; before: string; after: string; maxSlug: number };
type Known = { pattern: string | null; platformUrl: string; platform: URL; rule: Rule | null };

function readRule(pattern: string): Rule {
  const url = pattern.replace(/\/+$/, "");
  const host = url.replace(/^https?:\/\//i, "").replace(/:\d+$/, "");
  const [before = "", after = ""] = host.toLowerCase().split(place);
  const label = before.length + after.indexOf(".");
  return { url, before, after, maxSlug: 63 - label };
}

function plainHostname(host: string | undefined): string | null {
  return host === undefined ? null : (hostnameOf(host)?.toLowerCase().replace(/\.$/, "") ?? null);
}

function slugIn(hostname: string, rule: Rule): string | null {
  if (!hostname.endsWith(rule.after) || !hostname.startsWith(rule.before)) return null;
  if (hostname.length <= rule.before.length + rule.after.length) return null;
  const slug = hostname.slice(rule.before.length, hostname.length - rule.after.length);
  return slugPattern.test(slug) ? slug : "";
}
