import { sameText } from "../../platform/encryption/same-text.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";

/** Whether a request shows, as its bearer token, the secret that is stored sealed. */
export function showsSecret(
  headers: Headers,
  { sealed, context }: { sealed: string; context: string },
  secretBox: SecretBox,
): boolean {
  const credential = headers.get("authorization");
  return credential !== null && sameText(credential, `Bearer ${secretBox.open(sealed, context)}`);
}
