import { createHmac } from "node:crypto";

export const signatureHeader = "x-treadle-signature";

/**
 * `t=<unix seconds>,v1=<hex>`, the HMAC-SHA256 of `<t>.<body>`. The time is part of it, so that a receiver can
 * refuse an old request that somebody sends again.
 */
export function signWebhook(secret: string, body: string, sentAt: Date): string {
  const seconds = Math.floor(sentAt.getTime() / 1000);
  const mac = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
  return `t=${seconds},v1=${mac}`;
}

/** A receiver that is overloaded or broken is asked again; one that understood and refused is not. */
export function mayPass(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}
