// The keys of the S3 driver: `<prefix>/<namespace>/blobs|objects|uploads|probes/…`. A blob's key is its hash below the
// hash's first two digits, as in the local driver. A named object ends in `!`: it sorts before all that keys are made
// of, so a listing comes in the order of the keys, and no key is the folder of another one, which gateways to file
// systems cannot have.
import { randomUUID } from 'node:crypto';
import { sha256Hex } from '../../shared/digest.ts';
import { objectKey } from '../../shared/file-store.ts';
import { checkedSha256, segmentsOf } from './key-checks.ts';

const END = '!';

/** The keys of one namespace. */
export interface S3Layout {
  /** All of them begin with it. */
  readonly root: string;
  blob(sha256: string): string;
  /** What the keys of blobs begin with; `shard` is the first two digits of their hashes. */
  blobs(shard?: string): string;
  /** The hash in a blob's key; undefined for a key that is none. */
  sha256In(blobKey: string): string | undefined;
  object(key: string): string;
  /** What the keys of objects below a key begin with; '' is all of them. */
  objectsBelow(key: string): string;
  /** The name in an object's key; undefined for a key that is none. */
  nameIn(objectKey: string): string | undefined;
  /** A key for content whose hash is not known yet. */
  upload(): string;
  readonly uploads: string;
  /** A key to try conditions on. */
  probe(): string;
  readonly probes: string;
}

/** The layout of a namespace below a prefix. */
export function s3Layout(prefix: string | undefined, namespace: string): S3Layout {
  const root = `${prefix === undefined ? '' : `${prefix}/`}${objectKey(sha256Hex, namespace)}/`;
  const [blobs, objects] = [`${root}blobs/`, `${root}objects/`];
  const blobForm = /^[0-9a-f]{2}\/([0-9a-f]{64})$/;
  return {
    root,
    blob: (sha256) => `${blobs}${checkedSha256(sha256).slice(0, 2)}/${sha256}`,
    blobs: (shard) => (shard === undefined ? blobs : `${blobs}${segmentsOf(shard).join('/')}/`),
    sha256In: (key) => blobForm.exec(key.slice(blobs.length))?.[1],
    object: (key) => `${objects}${segmentsOf(key).join('/')}${END}`,
    objectsBelow: (key) => (key === '' ? objects : `${objects}${segmentsOf(key).join('/')}/`),
    nameIn: (key) => (key.endsWith(END) ? key.slice(objects.length, -END.length) : undefined),
    upload: () => `${root}uploads/${randomUUID()}`,
    uploads: `${root}uploads/`,
    probe: () => `${root}probes/${randomUUID()}`,
    probes: `${root}probes/`,
  };
}
