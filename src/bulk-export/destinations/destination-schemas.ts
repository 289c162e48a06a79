import { z } from "zod";
import { addressingStyles, checksumModes } from "../../platform/blob/blob-store.ts";
import { wireTime } from "../../platform/exact-time.ts";
import { type Destination, normalPrefix, putArgumentNames } from "./destination.ts";

export const time = z.iso.datetime({ offset: true });

const putArguments = z
  .record(z.string(), z.union([z.string(), z.boolean()]))
  .superRefine((given, context) => {
    const known: readonly string[] = putArgumentNames;
    for (const name of Object.keys(given)) {
      if (known.includes(name)) continue;
      context.addIssue({
        code: "custom",
        path: [name],
        message: `is not a known argument. The known ones are: ${known.join(", ")}`,
      });
    }
  })
  .describe("Sent with every object: ServerSideEncryption, SSEKMSKeyId, StorageClass and the like.");

const clientOptions = z.object({
  addressing_style: z.enum(addressingStyles).optional(),
  use_accelerate_endpoint: z.boolean().optional(),
  payload_signing_enabled: z.boolean().optional(),
  us_east_1_regional_endpoint: z.enum(["legacy", "regional"]).optional(),
});

const endpoint = z
  .string()
  .max(2048)
  .regex(
    /^https?:\/\/[^/?#@\s]+(\/[^?#\s]*)?$/i,
    "must be an http:// or https:// address without credentials or query",
  )
  // A port above 65535, or a host that is none.
  .refine((text) => URL.canParse(text), "must be a valid address: check its host and its port");

/** Assuming a role is not offered; a role that was named and then not used would be worse. */
const noRole = z.null("is not supported: give credentials, or none to use the machine's own").optional();

const configFields = {
  bucket_name: z.string().min(3).max(63).nullish(),
  prefix: z
    .string()
    .max(2048)
    .regex(/^\P{Cc}*$/u, "must not contain control characters")
    .default("")
    .transform(normalPrefix)
    .describe("Root folder of everything written."),
  region: z.string().min(1).nullish().describe("For AWS; default us-east-1."),
  endpoint_url: endpoint.nullish().describe("For storage other than AWS."),
  include_bucket_in_prefix: z
    .boolean()
    .default(true)
    .describe("false: the endpoint names the bucket already."),
  s3_additional_kwargs: putArguments.nullish(),
  config_kwargs_s3: clientOptions.nullish(),
  request_checksum_calculation: z.enum(checksumModes).nullish(),
};

export const destinationConfig = z
  .object({ ...configFields, aws_role_arn: noRole })
  .superRefine((config, context) => {
    const inEndpoint = !config.include_bucket_in_prefix && config.endpoint_url;
    if (config.bucket_name == null && !inEndpoint) {
      context.addIssue({ code: "custom", path: ["bucket_name"], message: "Field required" });
    }
    if (!config.include_bucket_in_prefix && !config.endpoint_url) {
      context.addIssue({
        code: "custom",
        path: ["endpoint_url"],
        message: "is required when include_bucket_in_prefix is false",
      });
    }
  })
  .transform(({ aws_role_arn: _role, ...config }) => ({
    ...config,
    bucket_name: config.bucket_name ?? null,
    region: config.region ?? null,
    endpoint_url: config.endpoint_url?.replace(/\/+$/, "") ?? null,
    s3_additional_kwargs: config.s3_additional_kwargs ?? null,
    config_kwargs_s3: config.config_kwargs_s3 ?? null,
    request_checksum_calculation: config.request_checksum_calculation ?? null,
  }));

export const destinationCredentials = z.object({
  access_key_id: z.string().min(1).max(255),
  secret_access_key: z.string().min(1).max(2048),
  session_token: z.string().max(2048).nullish(),
});

export const createDestinationBody = z.object({
  destination_type: z.literal("s3").default("s3"),
  display_name: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[a-zA-Z0-9\-_ ']+$/, "may hold letters, digits, spaces, - _ and '"),
  config: destinationConfig,
  credentials: destinationCredentials
    .nullish()
    .describe("Omitted: the credentials of the machine Treadle runs on (self-hosted only)."),
  aws_role_arn: noRole,
});
export type CreateDestination = z.output<typeof createDestinationBody>;

export const rotateCredentialsBody = z.object({ credentials: destinationCredentials });

export const destinationBody = z
  .object({
    id: z.guid(),
    tenant_id: z.guid(),
    destination_type: z.string(),
    display_name: z.string(),
    config: z.object({
      bucket_name: z.string().nullable(),
      prefix: z.string(),
      region: z.string().nullable(),
      endpoint_url: z.string().nullable(),
      include_bucket_in_prefix: z.boolean(),
      s3_additional_kwargs: z.record(z.string(), z.union([z.string(), z.boolean()])).nullable(),
      config_kwargs_s3: clientOptions.nullable(),
      request_checksum_calculation: z.enum(checksumModes).nullable(),
    }),
    credentials_keys: z.array(z.string()).describe("Which credentials are stored; never their values."),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: "BulkExportDestination" });

export function toDestinationBody(found: Destination): z.input<typeof destinationBody> {
  return {
    id: found.id,
    tenant_id: found.workspace_id,
    destination_type: found.destination_type,
    display_name: found.display_name,
    config: found.config,
    credentials_keys: found.credentials_keys,
    created_at: wireTime(found.created_at),
    updated_at: wireTime(found.updated_at),
  };
}
