import { CopyBlock } from "../../ui/index.ts";

/** What must be entered at the provider, character by character. */
export function RedirectUri({ uri, where }: { uri: string; where: string }) {
  return (
    <div className="field">
      <span className="field-name">Redirect URI to enter at {where}</span>
      <CopyBlock text={uri} label="the redirect URI" />
    </div>
  );
}
