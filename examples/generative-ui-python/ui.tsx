import "./ui.css";
import { useStreamContext } from "@langchain/langgraph-sdk/react-ui";
import { useState } from "react";

function Weather({ city, degrees }: { city: string; degrees: number }) {
  const [fahrenheit, setFahrenheit] = useState(false);
  const { submit } = useStreamContext();
  const ask = (next: string) => submit({ messages: [{ type: "human", content: next }] });
  return (
    <section className="flex gap-4 rounded-lg bg-sky-100 p-4 text-sky-900">
      <strong>{city}</strong>
      <button type="button" onClick={() => setFahrenheit(!fahrenheit)}>
        {fahrenheit ? `${Math.round(degrees * 1.8 + 32)} °F` : `${degrees} °C`}
      </button>
      <button type="button" onClick={() => ask("Bergen")}>
        And in Bergen?
      </button>
    </section>
  );
}

/** The names are those the graph pushes. */
export default { weather: Weather };
