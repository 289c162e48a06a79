import { GetObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import { SignatureV4 } from "@smithy/signature-v4";
import type { HttpRequest } from "@smithy/types";

/** A URL that contains its own credential, for clients that have none. Nothing is sent. */
export async function signedUrlOf(
  client: S3Client,
  object: { Bucket: string; Key: string; ResponseContentDisposition?: string },
  seconds: number,
): Promise<string> {
  const { credentials, region, sha256 } = client.config;
  const signer = new SignatureV4({ service: "s3", credentials, region, sha256, uriEscapePath: false });
  const request = await requestOf(client, new GetObjectCommand(object));
  const port = request.port === undefined ? "" : `:${request.port}`;
  const headers = { host: `${request.hostname}${port}`, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
  const signed = await signer.presign({ ...request, headers }, { expiresIn: seconds });
  // A storage may take a plus for what it is.
  const query = `${new URLSearchParams(signed.query as Record<string, string>)}`.replaceAll("+", "%20");
  return `${signed.protocol}//${signed.hostname}${port}${signed.path}?${query}`;
}

/** What the client would send, before it is signed. */
async function requestOf(client: S3Client, command: GetObjectCommand): Promise<HttpRequest> {
  let built: HttpRequest | undefined;
  command.middlewareStack.add(
    () => async (args) => {
      built = args.request as HttpRequest;
      return { response: {}, output: { $metadata: {} } };
    },
    { step: "build", name: "keepTheRequest", priority: "low" },
  );
  await client.send(command);
  return built!;
}
