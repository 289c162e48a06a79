import type { NetworkGuard } from "../../../platform/network/network-guard.ts";
import type { GitCredentials } from "../build-request.ts";
import { StepFailed } from "../build-step.ts";
import { sourceRefused } from "./git-problem.ts";
import { parseRepoUrl, type RepoUrl } from "./repo-url.ts";

type Web = Extract<RepoUrl, { kind: "http" }>;

const service = "/info/refs";

/** git runs with redirects off; this recognises its error for one. */
export function wasRedirected(error: unknown): boolean {
  return error instanceof StepFailed && /returned error: 30[12378]\b/.test(error.tail(8));
}

/**
 * Where the host redirects requests for this repository: a renamed one, or the same with `.git`. The guard looks it up,
 * hop by hop, because git itself would follow to any address and send the credential along.
 */
export async function redirectTarget(
  network: NetworkGuard,
  from: Web,
  credentials: GitCredentials,
  signal: AbortSignal,
): Promise<Web> {
  const base = from.text.replace(/\/+$/, "");
  const token = credentials && "token" in credentials ? credentials.token : null;
  const basic = token === null ? null : Buffer.from(`x-access-token:${token}`).toString("base64");
  const answer = await network.guardedFetch(`${base}${service}?service=git-upload-pack`, {
    redirect: "manual",
    signal,
    timeoutMs: 20_000,
    ...(basic === null ? {} : { headers: { authorization: `Basic ${basic}` } }),
  });
  const location = answer.headers.get("location");
  const target = location !== null && URL.canParse(location, base) ? new URL(location, base) : null;
  if (!target?.pathname.endsWith(service)) {
    throw sourceRefused(`${from.text} redirects git, but not to a repository. Check repo_url.`);
  }
  const next = parseRepoUrl(`${target.origin}${target.pathname.slice(0, -service.length)}`);
  if (target.username !== "" || target.password !== "" || "problem" in next || next.kind !== "http") {
    throw sourceRefused(`${from.text} redirects git to a URL that cannot be used. Check repo_url.`);
  }
  if (from.url.protocol === "https:" && next.url.protocol === "http:") {
    throw sourceRefused(`${from.text} redirects from https to http, which is not followed.`);
  }
  if (credentials !== null && next.url.origin !== from.url.origin) {
    throw sourceRefused(
      `${from.text} redirects to ${next.url.origin}, and the integration's credential is not sent there. Set repo_url to ${next.text} with an integration of that host.`,
    );
  }
  return next;
}
