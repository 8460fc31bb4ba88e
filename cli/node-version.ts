// Which Node the package needs. Installers only warn of an older one; here it is an error that says so, in place of whatever breaks first.
import { LongshoreError } from '../shared/errors.ts';

/** The oldest Node that will do: major and minor. */
export const MINIMUM_NODE = [22, 12] as const;

/** Whether a version like `20.20.2` is older than that. */
export function isOldNode(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor, leastMinor] = MINIMUM_NODE;
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}

/** Raises `ConfigInvalid` on a Node that is too old. */
export function requireNode(version: string = process.versions.node): void {
  if (!isOldNode(version)) return;
  const detail = `Node ${version} runs this, and Longshore needs ${MINIMUM_NODE.join('.')} or later`;
  throw new LongshoreError('ConfigInvalid', detail, 'Install Node 24, and put it first on PATH.');
}
