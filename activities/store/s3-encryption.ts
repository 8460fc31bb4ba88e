// Server-side encryption as the parameters of S3's requests: those that write, and those that touch what was written
// under a key of our own (SSE-C).
import { LongshoreError } from '../../shared/errors.ts';
import type { S3Encryption } from '../../shared/store-settings.ts';

/** The parameters, for the aggregated client's methods. */
export interface S3EncryptionHeaders {
  /** For PutObject, CreateMultipartUpload and CopyObject. */
  readonly write: {
    readonly ServerSideEncryption?: 'AES256' | 'aws:kms';
    readonly SSEKMSKeyId?: string;
    readonly BucketKeyEnabled?: boolean;
  } & CustomerKey;
  /** For GetObject, HeadObject, UploadPart and CompleteMultipartUpload. */
  readonly access: CustomerKey;
  /** For the source of CopyObject and UploadPartCopy. */
  readonly source: {
    readonly CopySourceSSECustomerAlgorithm?: 'AES256';
    readonly CopySourceSSECustomerKey?: string;
  };
}

interface CustomerKey {
  readonly SSECustomerAlgorithm?: 'AES256';
  readonly SSECustomerKey?: string;
}

/**
 * The parameters of a setting.
 * Raises `EnvironmentMissing` for a variable that is not set, `ConfigInvalid` for a key that is not 32 bytes in base64.
 */
export function encryptionOf(
  encryption: S3Encryption | undefined,
  env: Readonly<Record<string, string | undefined>>,
): S3EncryptionHeaders {
  switch (encryption?.type) {
    case undefined:
      return { write: {}, access: {}, source: {} };
    case 'sse-s3':
      return { write: { ServerSideEncryption: 'AES256' }, access: {}, source: {} };
    case 'sse-kms': {
      const { keyId, bucketKey } = encryption;
      const write = {
        ServerSideEncryption: 'aws:kms' as const,
        ...(keyId !== undefined && { SSEKMSKeyId: keyId }),
        ...(bucketKey !== undefined && { BucketKeyEnabled: bucketKey }),
      };
      return { write, access: {}, source: {} };
    }
    case 'sse-c':
      return customerKey(encryption.keyVariable, env[encryption.keyVariable]);
  }
}

function customerKey(variable: string, key: string | undefined): S3EncryptionHeaders {
  const mend = `Set ${variable} to a key of 32 bytes in base64, as \`openssl rand -base64 32\` makes one.`;
  if (key === undefined || key === '') {
    throw new LongshoreError('EnvironmentMissing', `${variable}, the key of the file store, is not set.`, mend);
  }
  const bytes = Buffer.from(key, 'base64');
  if (bytes.length !== 32) {
    throw new LongshoreError('ConfigInvalid', `${variable} holds ${bytes.length} bytes of base64, not 32.`, mend);
  }
  const access = { SSECustomerAlgorithm: 'AES256', SSECustomerKey: key } as const; // the SDK adds the key's MD5
  return {
    write: access,
    access,
    source: { CopySourceSSECustomerAlgorithm: 'AES256', CopySourceSSECustomerKey: key },
  };
}
