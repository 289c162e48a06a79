import { expect } from "vitest";
import { createTestApp, type TestApp } from "./app.ts";
import { callbackUri, clientId, clientSecret, providerBody } from "./auth-service-provider.ts";
import { type OAuthServer, startOAuthServer } from "./components/oauth-server.ts";
import { keepLogs } from "./logged-lines.ts";

export type AccountsApp = {
  app: TestApp;
  url: string;
  server: OAuthServer;
  logs: ReturnType<typeof keepLogs>;
  stop(): Promise<void>;
};

/** A whole server and an OAuth server whose accounts its agents may use, as the provider `test`. */
export async function startAccountsApp(): Promise<AccountsApp> {
  const logs = keepLogs();
  const app = await createTestApp({}, { logger: logs.logger });
  const url = await app.listen();
  const server = await startOAuthServer({
    clients: [{ clientId, clientSecret, redirectUris: [callbackUri(url, "test")] }],
  });
  const provider = providerBody(server, { name: "Test Service" });
  expect((await app.call("POST", "/v2/auth/providers", { body: provider })).status).toBe(200);
  return {
    app,
    url,
    server,
    logs,
    async stop() {
      await app.stop();
      await server.stop();
    },
  };
}
