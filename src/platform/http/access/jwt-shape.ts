/** Three base64url parts of which the first is a JSON object. No key of the platform looks like that, also none that was chosen. */
export function looksLikeJwt(text: string): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(text);
}
