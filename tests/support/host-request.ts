import { request } from "node:http";

export type HostAnswer = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
};

/** Asks a server of this machine by another host's name, as a proxy does that passes `Host` on. */
export function askByHost(
  url: string,
  host: string,
  path: string,
  {
    method = "GET",
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<HostAnswer> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: "127.0.0.1", port, path, method, headers: { ...headers, host } },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
        });
        response.once("error", reject);
        response.once("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      },
    );
    asked.once("error", reject).end(body);
  });
}
