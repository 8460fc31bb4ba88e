// How this command line is called in the hints that it gives.

/** From the package by its name, from a checkout by npm. */
export function ownCommand(): string {
  return import.meta.url.endsWith('.ts') ? 'npm run longshore --' : 'longshore';
}
