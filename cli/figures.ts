// Numbers and long texts in lines for people.

/** A number with thousands separators. */
export function number(value: number): string {
  return value.toLocaleString('en-US');
}

/** A number of things, as in `1 tool` and `1,200 tools`. */
export function counted(value: number, thing: string): string {
  return `${number(value)} ${thing}${value === 1 ? '' : 's'}`;
}

/** At most that many characters, the last one an ellipsis where some are left out. */
export function shorten(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters - 1).toWellFormed()}…`;
}
