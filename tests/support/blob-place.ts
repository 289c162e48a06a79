import type { BlobPlace } from "../../src/platform/blob/blob-place.ts";
import type { CephRgw } from "./components/ceph-rgw.ts";

type Door = Pick<CephRgw, "endpoint" | "region" | "accessKey" | "secretKey">;

/** A bucket of the gateway as the platform's own storage. */
export function bucketPlace(door: Door, bucket: string, prefix = ""): BlobPlace & { kind: "s3" } {
  return {
    kind: "s3",
    prefix,
    bucket: {
      bucket,
      region: door.region,
      endpointUrl: door.endpoint,
      bucketInEndpoint: false,
      addressingStyle: "auto",
      accelerate: false,
      checksumMode: null,
      signBodies: false,
      credentials: { accessKeyId: door.accessKey, secretAccessKey: door.secretKey },
      putArguments: {},
    },
  };
}

/** The same, as settings of a server. */
export function bucketSettings(door: Door, bucket: string, prefix = ""): Record<string, string> {
  return {
    TREADLE_BLOB_URL: `s3://${bucket}/${prefix}`,
    TREADLE_BLOB_ENDPOINT_URL: door.endpoint,
    TREADLE_BLOB_REGION: door.region,
    TREADLE_BLOB_ACCESS_KEY_ID: door.accessKey,
    TREADLE_BLOB_SECRET_ACCESS_KEY: door.secretKey,
  };
}
