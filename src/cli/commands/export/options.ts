import type { GlobalOptions } from "../../program.ts";

export type ExportOptions = GlobalOptions & { limit: number };
export type ExportFilesOptions = ExportOptions & { links?: boolean };
export type CreateExportOptions = GlobalOptions & {
  project?: string;
  allExperiments?: boolean;
  destination: string;
  from?: Date;
  to?: Date;
  every?: number;
  filter?: string;
  traceFilter?: string;
  fields?: string[];
  compression?: string;
  wait?: boolean;
  timeout: number;
};
export type CreateDestinationOptions = GlobalOptions & {
  bucket: string;
  prefix?: string;
  region?: string;
  endpoint?: string;
  machineCredentials?: boolean;
};
