import { Dialog } from "../ui/index.ts";
import { places } from "./navigation.ts";

const keys: readonly [string, string][] = [
  ["Ctrl K", "Find anything: pages, deployments, assistants, threads, projects, runs"],
  ["/", "To the search field of the page"],
  ["?", "This list"],
  ["Esc", "Close what is open"],
  ...places.map(({ label, letter }): [string, string] => [`g ${letter}`, `Go to ${label}`]),
];

/** `?`: every key there is. */
export default function KeyHelp({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="key-list">
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              {key.split(" ").map((each) => (
                <kbd key={each}>{each}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
