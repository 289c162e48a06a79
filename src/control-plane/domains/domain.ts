import { createHash } from "node:crypto";
import { domainToASCII } from "node:url";

/** Why a domain is not verified, or why the last check of a verified one did not find its proof. */
export const domainProblems = [
  "record_missing",
  "record_other",
  "record_gone",
  "dns_failed",
  "claimed_elsewhere",
] as const;
export type DomainProblem = (typeof domainProblems)[number];

export const domainStates = ["pending", "verified"] as const;

export type Domain = {
  id: string;
  workspace_id: string;
  deployment_id: string;
  domain: string;
  problem: DomainProblem | null;
  checked_at: Date | null;
  verified_at: Date | null;
  /** When a verified one is checked again. */
  next_check_at: Date;
  /** Checks since its proof was last found, while it is verified. */
  missed_checks: number;
  missing_since: Date | null;
  /** When it is removed, unless it is verified by then. */
  expires_at: Date;
  created_at: Date;
};

export const maxDomainsOfDeployment = 20;
/** Over the installation: the gateway holds them all in memory. */
export const maxVerifiedDomains = 10_000;
export const pendingMs = 7 * 24 * 60 * 60_000;

/** Each asks DNS, which works for others too. */
export const maxChecksPerMinute = 30;

/** `_treadle.` comes before it in a DNS name, which has 253 characters at most. */
const longest = 253 - "_treadle.".length;
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Names that lead to the machine itself, or that no DNS server of the Internet knows. */
const reservedEnds = new Set(["localhost", "invalid", "onion", "arpa"]);

/** The host as DNS has it: lower case, without the last dot, international names in their ASCII form. */
export function readDomain(given: string): { domain: string } | { problem: string } {
  const text = given.trim().replace(/\.$/, "");
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || /[/?#@\s\\]/.test(text))
    return { problem: "must be a host alone, such as agent.example.com: no scheme, path or spaces" };
  if (text.includes("*")) return { problem: "must be one host: wildcards are not served" };
  if (/^\[|:.*:/.test(text)) return { problem: "must be a name, not an address" };
  if (text.includes(":")) return { problem: "must be a host alone, without a port" };
  if (text.length > 2 * longest) return { problem: `must have at most ${longest} characters` };
  const domain = domainToASCII(text.toLowerCase());
  const labels = domain.split(".");
  if (domain === "" || !labels.every((part) => label.test(part)))
    return { problem: "must be a host such as agent.example.com: letters, digits, hyphens and dots" };
  // `0x7f.1` and `127.1` are addresses for some programs: no name ends in a number.
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1)!)) return { problem: "must be a name, not an address" };
  if (domain.length > longest) return { problem: `must have at most ${longest} characters` };
  if (labels.length < 2 || reservedEnds.has(labels.at(-1)!))
    return { problem: "must be a name in DNS with a dot in it, such as agent.example.com" };
  return { domain };
}

/** Hosts that belong to the installation itself. */
export type ReservedHosts = {
  platform: string;
  /** Below it, hosts are named after deployments; null where there is none. */
  deploymentsBase: string | null;
};

export function reservedProblem(domain: string, { platform, deploymentsBase }: ReservedHosts): string | null {
  if (domain === platform.toLowerCase()) return "is the host of the platform itself";
  const isBelow =
    deploymentsBase !== null && (domain === deploymentsBase || domain.endsWith(`.${deploymentsBase}`));
  return isBelow ? `is under ${deploymentsBase}, where hosts are named after deployments` : null;
}

/** Where its owner proves that the domain is for this deployment. It is no secret: it names the deployment. */
export function proofOf({ domain, deployment_id }: Pick<Domain, "domain" | "deployment_id">) {
  return { name: `_treadle.${domain}`, value: proofValue(deployment_id) };
}

function proofValue(deploymentId: string): string {
  const hash = createHash("sha256")
    .update(`domain of deployment ${deploymentId.toLowerCase()}`)
    .digest("hex");
  return `treadle-domain=${hash.slice(0, 32)}`;
}

/**
 * What the records at the name prove. The newest proof decides: it also takes a domain that another deployment
 * proved before, unless the record of that one is still there.
 */
export function judgeRecords(
  records: readonly string[],
  deploymentId: string,
  holderId: string | null,
): DomainProblem | null {
  const values = new Set(records.map((record) => record.trim()));
  if (!values.has(proofValue(deploymentId))) {
    return [...values].some((value) => value.startsWith("treadle-domain="))
      ? "record_other"
      : "record_missing";
  }
  const isHeldByAnother = holderId !== null && holderId !== deploymentId;
  return isHeldByAnother && values.has(proofValue(holderId)) ? "claimed_elsewhere" : null;
}

export function problemText(problem: DomainProblem, row: Domain): string {
  const { domain } = row;
  const { name, value } = proofOf(row);
  if (row.verified_at !== null)
    return `The TXT record ${name} with the value ${value} is not there any more. Add it again: after a day without it the domain is not served.`;
  switch (problem) {
    case "record_missing":
      return `There is no TXT record ${name} with the value ${value} yet. Add it at your DNS provider; it may take minutes until it is seen here.`;
    case "record_other":
      return `The TXT record ${name} is for another deployment. Add one with the value ${value}.`;
    case "record_gone":
      return `The TXT record ${name} was missing for more than a day, so the domain is not served any more. Add it again with the value ${value}, then check it.`;
    case "dns_failed":
      return `The DNS server gave no answer for ${name}. Check the domain's name servers, then check again.`;
    case "claimed_elsewhere":
      return `Another deployment has proved ${domain}. Remove its record from ${name} and add ${value}, or remove the domain there.`;
  }
}
