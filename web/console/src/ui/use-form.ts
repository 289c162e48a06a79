import { type FormEvent, useState } from "react";
import { hasProblem, type Problems, shownProblem } from "./form-problems.ts";

export type FormOptions<Values> = {
  start: Values;
  /** What is wrong with what was typed. */
  check(values: Values): Problems<Values>;
  /** What the server refused of it. */
  refused?: Problems<Values>;
  /** Whether a field is judged as soon as it was changed, or only when one wants to send it. */
  judge: "when changed" | "when sent";
  /** Something else that keeps the form from being sent. */
  isBlocked?: boolean;
  onChange?(): void;
  send(values: Values): void;
};

/** The one way forms work here: what is complained about and when, and that the first wrong field gets the focus. */
export function useForm<Values extends object>(options: FormOptions<Values>) {
  const { start, check, refused = {}, judge, isBlocked = false } = options;
  type Name = keyof Values & string;
  const [values, setValues] = useState(start);
  const [judged, setJudged] = useState<ReadonlySet<Name>>(new Set());
  const problems = check(values);
  const set = (patch: Partial<Values>) => {
    setValues((now) => ({ ...now, ...patch }));
    if (judge === "when changed") setJudged((now) => new Set([...now, ...(Object.keys(patch) as Name[])]));
    options.onChange?.();
  };
  return {
    values,
    set,
    /** Changes what follows from another field, which is not judged for it. */
    follow: (patch: Partial<Values>) => setValues((now) => ({ ...now, ...patch })),
    problem: (name: Name) => shownProblem(name, { problems, judged, refused }),
    /** For the control of a text. */
    text: (name: Name) => ({
      value: values[name] as string,
      onChange: (event: { target: { value: string } }) =>
        set({ [name]: event.target.value } as Partial<Values>),
    }),
    submit(event: FormEvent<HTMLFormElement>) {
      event.preventDefault();
      setJudged(new Set(Object.keys(values) as Name[]));
      if (!hasProblem(problems) && !isBlocked) return options.send(values);
      const form = event.currentTarget;
      // The marks appear with the next draw.
      requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
    },
  };
}
