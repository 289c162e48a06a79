import { ApiError, api } from "../../../api/client.ts";
import type { Answers } from "../../../api/wire.ts";
import { deploymentPath } from "../deployment-api.ts";

/** Uploads an archive for a deployment; answers the name it has at the server. */
export async function uploadArchive(
  deploymentId: string,
  archive: Blob,
  onProgress: (sent: number) => void,
): Promise<string> {
  const opened = await api.post<Answers["create_upload_url"]>(`${deploymentPath(deploymentId)}/upload-url`);
  // Through this host, regardless of the platform's public name.
  const { pathname, search } = new URL(opened.upload_url, location.href);
  await put(`${pathname}${search}`, archive, onProgress);
  return opened.object_path;
}

/** `fetch` does not tell how much was sent. */
function put(path: string, body: Blob, onProgress: (sent: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", path);
    request.setRequestHeader("content-type", "application/gzip");
    request.upload.addEventListener("progress", ({ loaded }) => onProgress(loaded));
    request.addEventListener("load", () => {
      if (request.status < 300) resolve();
      else reject(new ApiError(request.status, detailOf(request)));
    });
    request.addEventListener("error", () =>
      reject(new ApiError(0, "The upload was interrupted. Check that the server runs, and deploy again.")),
    );
    request.send(body);
  });
}

function detailOf({ responseText, status }: XMLHttpRequest): string {
  try {
    const { detail } = JSON.parse(responseText) as { detail?: unknown };
    if (typeof detail === "string") return detail;
  } catch {
    // Not ours: a proxy's page, which would mean nothing to a person here.
  }
  return `The upload failed with status ${status}. Try again.`;
}
