import { createHash, createHmac } from "node:crypto";

export interface S3Request {
  endpoint: string;
  region: string;
  accessKey: string;
  secretKey: string;
  method: "GET" | "PUT" | "HEAD" | "POST" | "DELETE";
  /** `/bucket` or `/bucket/key`, not yet escaped. */
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
}

const sha256 = (data: string) => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();

/** RFC 3986: encodeURIComponent leaves five characters that the signature wants escaped. */
const percentEncode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** One request with an AWS signature, version 4, to check an S3 server without any S3 client. */
export function s3Request(request: S3Request, now = new Date()): Promise<Response> {
  const body = request.body ?? "";
  const timestamp = now.toISOString().replace(/[-:]|\.\d+/g, "");
  const date = timestamp.slice(0, 8);
  const path = request.path.split("/").map(percentEncode).join("/");
  const query = Object.entries(request.query ?? {})
    .map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`)
    .sort()
    .join("&");
  const headers: Record<string, string> = {
    ...request.headers,
    host: new URL(request.endpoint).host,
    "x-amz-content-sha256": sha256(body),
    "x-amz-date": timestamp,
  };
  const names = Object.keys(headers).sort();
  const signedHeaders = names.join(";");
  const canonical = [
    request.method,
    path,
    query,
    ...names.map((name) => `${name}:${headers[name]!.trim()}`),
    "",
    signedHeaders,
    sha256(body),
  ].join("\n");

  const scope = `${date}/${request.region}/s3/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", timestamp, scope, sha256(canonical)].join("\n");
  const key = [date, request.region, "s3", "aws4_request"].reduce<string | Buffer>(
    hmac,
    `AWS4${request.secretKey}`,
  );
  const signature = createHmac("sha256", key).update(toSign).digest("hex");
  const credential = `${request.accessKey}/${scope}`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${signedHeaders}, Signature=${signature}`;

  return fetch(`${request.endpoint}${path}${query && `?${query}`}`, {
    method: request.method,
    headers: { ...headers, authorization },
    body: request.body,
  });
}
