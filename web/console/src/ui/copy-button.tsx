import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { Button, IconButton } from "./button.tsx";
import { toast } from "./toasts.tsx";

/** Copies `text`; `label` names what, for example "Copy the key". With `words` it shows them beside the icon. */
export function CopyButton({
  text,
  label = "Copy",
  words,
  look,
}: {
  text: string | (() => string);
  label?: string;
  words?: string;
  look?: "plain" | "primary" | "quiet";
}) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_800);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      setCopied(true);
    } catch {
      toast.bad("The browser does not allow copying here. Select the text and copy it yourself.");
    }
  };
  const icon = copied ? Check : Copy;
  if (words === undefined)
    return (
      <IconButton
        label={copied ? "Copied" : label}
        icon={icon}
        size="small"
        look={look ?? "quiet"}
        onClick={copy}
      />
    );
  return (
    <Button
      size="small"
      look={look ?? "plain"}
      icon={icon}
      onClick={copy}
      aria-label={copied ? "Copied" : label}
    >
      {copied ? "Copied" : words}
    </Button>
  );
}

/** A command or text to take along, with its copy button. */
export function CopyBlock({ text, label }: { text: string; label: string }) {
  return (
    <div className="copy-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long commands scroll, also by keyboard */}
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} label={`Copy: ${label}`} />
    </div>
  );
}
