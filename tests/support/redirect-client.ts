/** Follows redirects between hosts as a browser does, with cookies per origin; without pages and scripts. */
export function createRedirectClient() {
  const jars = new Map<string, Map<string, string>>();
  const jarOf = (origin: string) => {
    const jar = jars.get(origin) ?? new Map<string, string>();
    jars.set(origin, jar);
    return jar;
  };
  const get = async (url: string) => {
    const jar = jarOf(new URL(url).origin);
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...jar].map((pair) => pair.join("=")).join("; ") },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === "") jar.delete(name!);
      else jar.set(name!, value!);
    }
    await response.arrayBuffer();
    const location = response.headers.get("location");
    return { response, next: location === null ? null : new URL(location, url).href };
  };
  return {
    jarOf,
    get,
    /** From a first address until `stop` is true, or no redirect follows; every address on the way. */
    async follow(first: string, stop: (url: string) => boolean = () => false): Promise<string[]> {
      const visited = [first];
      for (let url: string | null = first; url !== null && !stop(url); ) {
        const { next } = await get(url);
        if (next !== null) visited.push(next);
        url = next;
        if (visited.length > 20) throw new Error(`redirected in circles: ${visited.join(" ")}`);
      }
      return visited;
    },
  };
}
