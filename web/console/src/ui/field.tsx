import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useContext,
  useId,
} from "react";

type FieldIds = { control: string; describedBy: string | undefined; invalid: boolean };
const FieldContext = createContext<FieldIds | null>(null);

export type FieldProps = {
  label: ReactNode;
  hint?: ReactNode;
  /** What is wrong, and what to write instead. */
  error?: string | null | undefined;
  optional?: boolean;
  children: ReactNode;
};

/** A label, its one control (Input, Select or Textarea inside), a hint and what is wrong with it. */
export function Field({ label, hint, error, optional, children }: FieldProps) {
  const id = useId();
  const ids: FieldIds = {
    control: `${id}-control`,
    describedBy: error ? `${id}-error` : hint ? `${id}-hint` : undefined,
    invalid: Boolean(error),
  };
  return (
    <FieldContext value={ids}>
      <div className="field">
        <label htmlFor={ids.control}>
          {label}
          {optional && <span className="optional"> optional</span>}
        </label>
        {children}
        {error ? (
          <p className="field-error" id={`${id}-error`} role="alert">
            {error}
          </p>
        ) : (
          hint && (
            <p className="field-hint" id={`${id}-hint`}>
              {hint}
            </p>
          )
        )}
      </div>
    </FieldContext>
  );
}

function useFieldProps() {
  const field = useContext(FieldContext);
  if (!field) return {};
  return {
    id: field.control,
    "aria-describedby": field.describedBy,
    "aria-invalid": field.invalid || undefined,
  };
}

export function Input({
  className = "",
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> }) {
  return <input {...useFieldProps()} autoComplete="off" {...rest} className={`input ${className}`} />;
}

export function Textarea({
  className = "",
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & { ref?: Ref<HTMLTextAreaElement> }) {
  return <textarea {...useFieldProps()} rows={4} {...rest} className={`input ${className}`} />;
}

export type SelectOption = { value: string; label: string };

export function Select({
  options,
  className = "",
  ...rest
}: SelectHTMLAttributes<HTMLSelectElement> & { options: readonly SelectOption[] }) {
  return (
    <select {...useFieldProps()} {...rest} className={`input select ${className}`}>
      {options.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}

export function Checkbox({
  label,
  hint,
  ...rest
}: Omit<InputHTMLAttributes<HTMLInputElement>, "type"> & { label: ReactNode; hint?: ReactNode }) {
  return (
    <label className="checkbox">
      <input type="checkbox" {...rest} />
      <span>
        {label}
        {hint && <span className="field-hint">{hint}</span>}
      </span>
    </label>
  );
}
