import type { Readable } from "node:stream";

/**
 * Objects under keys, in a folder or in a bucket; one suite of tests holds for both. Failures are AppErrors whose code
 * starts with `blob.`.
 */
export interface BlobStore {
  /** There wholly or not at all, in place of any earlier one. */
  put(key: string, body: Buffer): Promise<void>;
  /** For what does not fit into memory: nothing is visible before `complete`. */
  beginUpload(key: string): Promise<BlobUpload>;
  /**
   * Frees what incomplete uploads have stored under keys with this prefix; with `before`, only uploads begun before it.
   * Returns how many there were.
   */
  abortUploads(prefix: string, before?: Date): Promise<number>;
  /** Null when the object does not exist. */
  head(key: string): Promise<BlobHead | null>;
  /** Null when the object does not exist; an empty body when the range begins after its end. */
  get(key: string, options?: GetOptions): Promise<BlobBody | null>;
  /** Objects whose keys have this prefix, in the order of their keys, those after a key, and no more than `limit`. */
  list(prefix: string, page: { after?: string | undefined; limit: number }): Promise<BlobEntry[]>;
  /** None there is no failure. */
  remove(key: string): Promise<void>;
  /**
   * A URL by which everybody who has it can read the object for so long; null if the storage has no such URLs. A browser
   * saves what it reads as `fileName`.
   */
  signedUrl(key: string, seconds: number, options?: { fileName?: string }): Promise<string | null>;
  close(): void;
}

export type BlobHead = { bytes: number };
export type BlobBody = { bytes: number; stream: Readable };
export type BlobEntry = { key: string; bytes: number; modifiedAt: Date };
export type GetOptions = { range?: { start: number; bytes: number }; signal?: AbortSignal };

/** A bucket keeps more about an object than a folder does. */
export interface BucketStore extends BlobStore {
  signedUrl(key: string, seconds: number, options?: { fileName?: string }): Promise<string>;
  put(key: string, body: Buffer, options?: PutOptions): Promise<void>;
  beginUpload(key: string, options?: PutOptions): Promise<BlobUpload>;
  head(key: string): Promise<BucketHead | null>;
}

/** What an export needs of a bucket. */
export type BucketSink = Pick<
  BucketStore,
  "put" | "beginUpload" | "abortUploads" | "head" | "remove" | "close"
>;

export type PutOptions = { contentType?: string; metadata?: Record<string, string> };
export type BucketHead = BlobHead & { metadata: Record<string, string> };

export type BlobUpload = {
  /**
   * Parts go in order; every one but the last has at least 5 MB. Answered before the storage has it: until `stored` is
   * called, which a failed part never is, `body` must stay as it is.
   */
  addPart(body: Buffer, stored?: () => void): Promise<void>;
  complete(): Promise<void>;
  /** Frees what was stored; never throws. */
  abort(): Promise<void>;
};

export type BlobCredentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
};

export const addressingStyles = ["auto", "virtual", "path"] as const;
export type AddressingStyle = (typeof addressingStyles)[number];
export const checksumModes = ["when_supported", "when_required"] as const;
export type ChecksumMode = (typeof checksumModes)[number];

/** Where the bucket is and how to speak to it. Plain data: it crosses to other threads. */
export type BucketSettings = {
  bucket: string | null;
  region: string | null;
  endpointUrl: string | null;
  /** The endpoint names the bucket already. */
  bucketInEndpoint: boolean;
  addressingStyle: AddressingStyle;
  accelerate: boolean;
  /** Null: checksums only where the protocol demands them, unless it is AWS. */
  checksumMode: ChecksumMode | null;
  /** Over TLS bodies are not signed unless this is set: the connection protects them, and a hash costs time. */
  signBodies: boolean;
  /** Null: those of the machine. */
  credentials: BlobCredentials | null;
  /** Sent with every object: encryption, storage class and the like. */
  putArguments: Record<string, string | boolean>;
};
