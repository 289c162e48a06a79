/** Something happened on a thread. `ended`: a run of it may be over. */
export type ThreadNotice = { threadId: string; ended: boolean };

/** NOTIFY refuses payloads of 8,000 bytes and more; a thread takes up to 75. */
export const maxThreadsPerNotice = 100;

/** Each thread by its id, and once more with this sign where nothing ended: an older server knows ids alone. */
const calm = "~";

export function noticeText(notices: readonly ThreadNotice[]): string {
  return notices
    .map(({ threadId, ended }) => (ended ? threadId : `${threadId},${calm}${threadId}`))
    .join(",");
}

export function readNotice(text: string): ThreadNotice[] {
  const entries = text.split(",");
  const calmOnes = new Set(entries.filter((entry) => entry.startsWith(calm)));
  return entries
    .filter((entry) => !entry.startsWith(calm))
    .map((threadId) => ({ threadId, ended: !calmOnes.has(calm + threadId) }));
}
