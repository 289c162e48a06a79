import type { Transporter } from "nodemailer";
import { AppError, errorMessage } from "../errors.ts";

export type Mail = {
  to: string;
  subject: string;
  text: string /** The same for each try of the same mail. */;
  id: string;
};

export type MailConfig = { url: string; from: string };

const timeoutMs = 15_000;

/** Sends mail through the operator's own SMTP server. */
export class MailSender {
  readonly #from: string;
  readonly #url: string;
  #transport: Promise<Transporter> | undefined;

  constructor({ url, from }: MailConfig) {
    this.#from = from;
    this.#url = url;
  }

  /** Resolves when the server has taken it. A refusal that will not change is not retryable. */
  async send({ to, subject, text, id }: Mail): Promise<void> {
    const domain = this.#from.split("@")[1]?.replace(/[>\s]/g, "") || "localhost";
    try {
      this.#transport ??= openTransport(this.#url);
      const transport = await this.#transport;
      await transport.sendMail({
        ...{ from: this.#from, to: { name: "", address: to }, subject, text },
        messageId: `<${id}@${domain}>`,
      });
    } catch (error) {
      const code = (error as { responseCode?: unknown }).responseCode;
      throw new AppError({
        code: "mail.not_sent",
        kind: "bad_gateway",
        message: `The mail server did not take the mail to ${to}: ${errorMessage(error)}`,
        retryable: !(typeof code === "number" && code >= 500),
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    (await this.#transport)?.close();
  }
}

/** The library is loaded with the first mail: few servers ever send one. */
async function openTransport(url: string): Promise<Transporter> {
  const { createTransport } = await import("nodemailer");
  return createTransport({
    url,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // What is sent is text of ours: a path or an address in it is never opened.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}
