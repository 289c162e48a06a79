/**
 * A tab for the provider's pages. Opened from here it takes along the key of this tab, which the page one comes back to
 * needs; cut off from this one before it goes anywhere, it cannot reach back. Null where the browser does not allow it.
 */
export function openTab(): { go(url: string): void; close(): void } | null {
  const tab = window.open("about:blank", "_blank");
  if (!tab) return null;
  tab.opener = null;
  return {
    go(url) {
      tab.location.href = url;
    },
    close: () => tab.close(),
  };
}

/** Consents are given only at web addresses. */
export function isWebAddress(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
