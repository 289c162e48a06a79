import { ExternalLink, FileText } from "lucide-react";
import { useEffect, useState } from "react";
import type { Media } from "./media.ts";

/**
 * What a message shows or plays. Media in the message itself is shown. Media at another host is opened there on
 * request, in a new tab, so that looking at a trace does not contact other hosts.
 */
export function MediaView({ media }: { media: Media }) {
  const { kind, url, name, isForeign } = media;
  if (isForeign) return <ForeignMedia media={media} />;
  if (kind === "image")
    return <img className="media-image" src={url} alt={name ?? "Image in the message"} loading="lazy" />;
  if (kind === "audio") return <AudioPlayer url={url} name={name} />;
  return <SavedFile url={url} name={name ?? "document.pdf"} />;
}

const words = { image: "image", audio: "audio", pdf: "PDF" };

function ForeignMedia({ media: { kind, url, name } }: { media: Media }) {
  return (
    <a className="media-link" href={url} target="_blank" rel="noreferrer noopener">
      <ExternalLink size={14} aria-hidden="true" />
      Open the {words[kind]}
      {name ? ` ${name}` : ""} at {new URL(url).host}
    </a>
  );
}

function AudioPlayer({ url, name }: { url: string; name: string | undefined }) {
  const local = useLocalUrl(url);
  return (
    // biome-ignore lint/a11y/useMediaCaption: what a model was sent has no captions
    <audio
      className="media-audio"
      controls
      preload="none"
      src={local}
      aria-label={name ?? "Audio in the message"}
    />
  );
}

function SavedFile({ url, name }: { url: string; name: string }) {
  return (
    <a className="media-link" href={url} download={name}>
      <FileText size={14} aria-hidden="true" />
      Save {name}
    </a>
  );
}

/** The page's policy lets sound come from this page alone: the data is made a file of it. */
function useLocalUrl(dataUrl: string): string | undefined {
  const [local, setLocal] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(blobOf(dataUrl));
    setLocal(made);
    return () => URL.revokeObjectURL(made);
  }, [dataUrl]);
  return local;
}

function blobOf(dataUrl: string): Blob {
  const [head = "", content = ""] = dataUrl.split(",", 2);
  const bytes = Uint8Array.from(atob(content.replaceAll(/\s/g, "")), (letter) => letter.charCodeAt(0));
  return new Blob([bytes], { type: head.slice("data:".length).split(";")[0] ?? "" });
}
