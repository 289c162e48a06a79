import { makeSignInLink } from "../../server/sign-in-link.ts";
import { createOutput } from "../../terminal/output.ts";
import type { LoginLinkOptions } from "./options.ts";

export async function makeLoginLink(options: LoginLinkOptions): Promise<void> {
  const output = createOutput(options);
  const { link, expiresAt } = await makeSignInLink(options);
  const email = options.email ?? "the administrator";
  output.data({ url: link, expires_at: expiresAt.toISOString() });
  output.line(output.paint("cyan", link));
  output.line(`Signs in ${email} in the browser that opens it: once, until ${expiresAt.toISOString()}.`);
}
