import { request } from "../../api/client.ts";
import type { Dataset } from "./evaluation-api.ts";

/** Hands the whole dataset to the browser as a file. */
export async function saveDataset({ id, name }: Dataset, format: "jsonl" | "csv"): Promise<void> {
  const response = await request("GET", `/api/v1/datasets/${id}/${format}`);
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = `${name.replaceAll(/[^\w.-]+/g, "-")}.${format}`;
  link.click();
  // The browser has taken what it saves by the next turn.
  setTimeout(() => URL.revokeObjectURL(address));
}
