/** Works out `+ - * / % ^` and brackets; nothing else is understood, so nothing can be executed. */
export function evaluateArithmetic(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?|\.\d+|[-+*/%^()]|\S/g) ?? [];
  let position = 0;
  const fail = (found: string | undefined): never => {
    throw new Error(`"${expression}" is not arithmetic I can work out (stopped at ${found ?? "its end"}).`);
  };
  const sum = (): number => {
    let value = product();
    for (let sign = tokens[position]; sign === "+" || sign === "-"; sign = tokens[position]) {
      position++;
      value = sign === "+" ? value + product() : value - product();
    }
    return value;
  };
  const product = (): number => {
    let value = signed();
    for (let sign = tokens[position]; sign === "*" || sign === "/" || sign === "%"; sign = tokens[position]) {
      position++;
      const right = signed();
      if (sign !== "*" && right === 0) throw new Error(`"${expression}" divides by zero.`);
      value = sign === "*" ? value * right : sign === "/" ? value / right : value % right;
    }
    return value;
  };
  const signed = (): number => {
    if (tokens[position] === "-") {
      position++;
      return -signed();
    }
    if (tokens[position] === "+") position++;
    return power();
  };
  const power = (): number => {
    const base = single();
    if (tokens[position] !== "^") return base;
    position++;
    return base ** signed();
  };
  const single = (): number => {
    const token = tokens[position++];
    if (token === "(") {
      const value = sum();
      if (tokens[position++] !== ")") fail(tokens[position - 1]);
      return value;
    }
    const value = Number(token);
    return token === undefined || !/^[\d.]/.test(token) || Number.isNaN(value) ? fail(token) : value;
  };
  const result = sum();
  if (position < tokens.length) fail(tokens[position]);
  return result;
}

/** Without the tail binary fractions leave (0.1 + 0.2). */
export function formatNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(12)));
}
