import { promisify } from "node:util";
import { gunzip, inflate, zstdDecompress } from "node:zlib";
import { AppError, errorMessage } from "../../platform/errors.ts";
import { readBytes } from "../../platform/http/validation/body.ts";

/** On the wire. */
export const maxSentBytes = 64 * 1024 * 1024;
/** Unpacked: a small body may unpack to anything. */
const maxUnpackedBytes = 128 * 1024 * 1024;

const unpackers: Record<
  string,
  (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>
> = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  zstd: promisify(zstdDecompress),
};

/** The body, unpacked; a body that is cut off or damaged is refused whole. */
export async function readIngestBody(request: Request): Promise<Buffer> {
  const bytes = await readBytes(request, maxSentBytes);
  const encoding = request.headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (encoding === "" || encoding === "identity") return asBuffer(bytes);
  const unpack = unpackers[encoding];
  if (!unpack) {
    throw new AppError({
      code: "traces.unknown_encoding",
      kind: "unsupported_media_type",
      message: `Content-Encoding "${encoding.slice(0, 40)}" is not known here. Send gzip, zstd, deflate or none.`,
    });
  }
  try {
    return await unpack(bytes, { maxOutputLength: maxUnpackedBytes });
  } catch (error) {
    if ((error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE") {
      throw new AppError({
        code: "request.too_large",
        kind: "too_large",
        message: `The body unpacks to more than ${maxUnpackedBytes} bytes. Send smaller batches.`,
      });
    }
    throw new AppError({
      code: "traces.damaged_body",
      kind: "invalid",
      message: `The ${encoding} body is cut off or damaged; nothing of it was kept. Send it again.`,
      detail: { reason: errorMessage(error) },
      cause: error,
    });
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
