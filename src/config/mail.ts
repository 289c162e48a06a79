import { z } from "zod";
import type { MailConfig } from "../platform/mail/mail-sender.ts";
import { text } from "./fields.ts";
import { invalidSettings } from "./parse-settings.ts";

/** Settings of the mail server that alerts are sent through. */
export const mailSettings = {
  TREADLE_SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\/[^\s/]+/, "must start with smtp:// or smtps:// and name a host")
    .optional()
    .describe(
      "Mail server for alerts, for example smtp://user:password@mail.example.com:587. Without it no mail is sent.",
    ),
  TREADLE_SMTP_FROM: text
    .regex(/^[^\r\n]*[^\s@<]+@[^\s@>]+>?$/, "must be an address, such as Treadle <alerts@example.com>")
    .optional()
    .describe(
      "Sender of the mail, for example Treadle <alerts@example.com>. Required with TREADLE_SMTP_URL.",
    ),
};

/** Null where no mail server is set. */
export function mailConfigOf(env: z.output<z.ZodObject<typeof mailSettings>>): MailConfig | null {
  const { TREADLE_SMTP_URL: url, TREADLE_SMTP_FROM: from } = env;
  if (url === undefined) return null;
  if (from === undefined)
    throw invalidSettings("TREADLE_SMTP_URL needs a sender: set TREADLE_SMTP_FROM as well.");
  return { url, from };
}
