import { AppError } from "../../platform/errors.ts";

/** Seals and opens texts with the installation's key. */
export type LinkSeal = {
  seal(text: string, context: string): string;
  open(sealed: string, context: string): string;
};

export type AttachmentPlace = {
  workspaceId: string;
  /** Of which kind its owner is. */
  of: "run" | "example";
  id: string;
  name: string;
};

const context = "trace-attachment-link";
const validMs = 24 * 3_600_000;

/** Links by which attachments are read without a key. */
export class AttachmentLinks {
  readonly #seal: LinkSeal;

  constructor(seal: LinkSeal) {
    this.#seal = seal;
  }

  /** Where anybody who has the link may read the attachment for a day: clients fetch it without their key. */
  urlOf(origin: string, { workspaceId, of, id, name }: AttachmentPlace, now: Date): string {
    const until = now.getTime() + validMs;
    const token = this.#seal.seal(JSON.stringify([workspaceId, of, id, name, until]), context);
    return `${origin}/api/v1/attachments/${token}`;
  }

  read(token: string, now: Date): AttachmentPlace {
    const [workspaceId, of, id, name, until] = JSON.parse(this.#open(token)) as [
      string,
      AttachmentPlace["of"],
      string,
      string,
      number,
    ];
    if (now.getTime() >= until)
      throw noSuchLink("The link has expired. Read the run or example again for a new one.");
    return { workspaceId, of, id, name };
  }

  #open(token: string): string {
    try {
      return this.#seal.open(token, context);
    } catch (cause) {
      throw noSuchLink(
        "The link is not valid. Copy it whole, or read the run or example again for a new one.",
        cause,
      );
    }
  }
}

function noSuchLink(message: string, cause?: unknown): AppError {
  return new AppError({ code: "traces.attachment_link", kind: "forbidden", message, cause });
}
