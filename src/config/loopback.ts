export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  return (
    name === "localhost" || name.endsWith(".localhost") || name === "::1" || /^127(\.\d{1,3}){3}$/.test(name)
  );
}

export function publicUrlIsLoopback(url: string | undefined): boolean {
  return url === undefined || isLoopbackHost(new URL(url).hostname);
}
