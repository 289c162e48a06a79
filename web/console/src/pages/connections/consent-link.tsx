import type { ReactNode } from "react";
import { isWebAddress, openTab } from "./open-consent.ts";

/** Leads to a provider's consent, in a tab of its own. */
export function ConsentLink({
  url,
  look = "plain",
  onOpen,
  children,
}: {
  url: string;
  look?: "plain" | "primary";
  onOpen?(): void;
  children: ReactNode;
}) {
  if (!isWebAddress(url))
    return <span className="field-error">This provider's address is not a web address.</span>;
  return (
    <a
      className={`button ${look} normal`}
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      onClick={(event) => {
        onOpen?.();
        const tab = openTab();
        if (!tab) return;
        event.preventDefault();
        tab.go(url);
      }}
    >
      {children}
    </a>
  );
}
