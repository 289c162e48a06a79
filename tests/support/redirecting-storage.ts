import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Answers every request as AWS does when a bucket is in another region. */
export async function startRedirectingStorage(
  region: string,
): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(301, { "content-type": "application/xml", "x-amz-bucket-region": region });
      response.end(
        `<?xml version="1.0" encoding="UTF-8"?><Error><Code>PermanentRedirect</Code><Message>elsewhere</Message></Error>`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
