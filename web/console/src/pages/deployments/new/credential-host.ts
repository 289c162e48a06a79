/** The host a credential for a repository's address is for, and its kind; null when the address is not complete. */
export function credentialFor(
  repoUrl: string,
): { kind: "token" | "ssh_private_key"; host: string; name: string } | null {
  const text = repoUrl.trim();
  if (/^https?:\/\//i.test(text)) {
    if (!URL.canParse(text)) return null;
    const { protocol, host, origin, pathname } = new URL(text);
    const name = nameOf(host, pathname);
    return { kind: "token", host: protocol === "http:" ? origin : host, name };
  }
  if (/^ssh:\/\//i.test(text)) {
    if (!URL.canParse(text)) return null;
    const { hostname, pathname } = new URL(text);
    return { kind: "ssh_private_key", host: hostname, name: nameOf(hostname, pathname) };
  }
  const scp = /^(?:[\w.-]+@)?([A-Za-z0-9.-]+):(?!\/\/)(.+)$/.exec(text);
  if (!scp) return null;
  return { kind: "ssh_private_key", host: scp[1]!, name: nameOf(scp[1]!, scp[2]!) };
}

function nameOf(host: string, path: string): string {
  const repository = path.replace(/^\/+|\/+$/g, "").replace(/\.git$/, "");
  return `${host}/${repository}`.slice(0, 180);
}
