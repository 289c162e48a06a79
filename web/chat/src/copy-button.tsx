import { useState } from "react";
import { Icon } from "./icons.tsx";

export function CopyButton({ text, label = "Copy" }: { text(): string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text());
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button type="button" className="quiet small" onClick={() => void copy()}>
      <Icon name={copied ? "check" : "copy"} />
      <span>{copied ? "Copied" : label}</span>
    </button>
  );
}
