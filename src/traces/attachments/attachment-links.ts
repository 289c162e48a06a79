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

export type AttachmentLinks = {
  /** Where anybody who has the link may read the attachment for a day: clients fetch it without their key. */
  urlOf(origin: string, place: AttachmentPlace, now: Date): string;
  read(token: string, now: Date): AttachmentPlace;
};

const context = "trace-attachment-link";
const validMs = 24 * 3_600_000;

export function createAttachmentLinks(seal: LinkSeal): AttachmentLinks {
  return {
    urlOf(origin, { workspaceId, of, id, name }, now) {
      const until = now.getTime() + validMs;
      const token = seal.seal(JSON.stringify([workspaceId, of, id, name, until]), context);
      return `${origin}/api/v1/attachments/${token}`;
    },
    read(token, now) {
      const [workspaceId, of, id, name, until] = JSON.parse(opened(seal, token)) as [
        string,
        AttachmentPlace["of"],
        string,
        string,
        number,
      ];
      if (now.getTime() >= until)
        throw noSuchLink("The link has expired. Read the run or example again for a new one.");
      return { workspaceId, of, id, name };
    },
  };
}

function opened(seal: LinkSeal, token: string): string {
  try {
    return seal.open(token, context);
  } catch (cause) {
    throw noSuchLink(
      "The link is not valid. Copy it whole, or read the run or example again for a new one.",
      cause,
    );
  }
}

function noSuchLink(message: string, cause?: unknown): AppError {
  return new AppError({ code: "traces.attachment_link", kind: "forbidden", message, cause });
}
