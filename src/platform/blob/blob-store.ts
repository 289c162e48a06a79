/** Objects under keys, in somebody's bucket. Failures are AppErrors whose code starts with `blob.`. */
export type BlobStore = {
  put(key: string, body: Buffer, options?: PutOptions): Promise<void>;
  /** For what does not fit into memory: nothing is visible before `complete`. */
  beginUpload(key: string, options?: PutOptions): Promise<BlobUpload>;
  /** Frees what uploads that nobody will complete have stored under keys that begin so; answers how many there were. */
  abortUploads(prefix: string): Promise<number>;
  /** Null when there is no such object. */
  head(key: string): Promise<BlobHead | null>;
  remove(key: string): Promise<void>;
  close(): void;
};

export type PutOptions = { contentType?: string; metadata?: Record<string, string> };
export type BlobHead = { bytes: number; metadata: Record<string, string> };

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
