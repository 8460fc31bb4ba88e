// Turns what the S3 client throws into the catalogue's errors, once. The client's own error is not kept as the cause:
// it carries signatures and key ids. Source of the codes: "Error responses" in the Amazon S3 API reference.
import { LongshoreError, messageOf, type ErrorType } from '../../shared/errors.ts';

/** What is looked at in an error of the AWS SDK. */
export interface S3Failure {
  /** The service's code (`NoSuchKey`), or the client's own name (`TimeoutError`). */
  readonly code: string;
  /** The HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;
  /** How often the request was sent. */
  readonly attempts: number;
  readonly message: string;
}

interface Kind {
  readonly type: ErrorType;
  readonly mend: string;
}

/** Reads an error of the SDK, or of the connection. */
export function failureOf(thrown: unknown): S3Failure {
  // Any object may be thrown; each field is looked at as unknown.
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as {
    readonly name?: unknown;
    readonly code?: unknown;
    readonly $metadata?: { readonly httpStatusCode?: unknown; readonly attempts?: unknown };
  };
  const { httpStatusCode, attempts } = error.$metadata ?? {};
  const name = typeof error.name === 'string' && error.name !== 'Error' ? error.name : undefined;
  return {
    code: name ?? (typeof error.code === 'string' ? error.code : 'Unknown'),
    status: typeof httpStatusCode === 'number' ? httpStatusCode : undefined,
    attempts: typeof attempts === 'number' ? attempts : 1,
    message: messageOf(thrown),
  };
}

/** Whether the answer was that the object is not there; `NotFound` is that of HEAD, for a missing bucket too. */
export function isNotFound({ code, status }: S3Failure): boolean {
  return status === 404 && (code === 'NoSuchKey' || code === 'NotFound');
}

/** Whether the condition of a write or read did not hold. */
export function isConditionFailed({ code, status }: S3Failure): boolean {
  return status === 412 || code === 'PreconditionFailed';
}

/**
 * Whether another write was going on at the same moment, so that this one was not decided. A gateway to a file system says
 * `ExistingObjectIsDirectory` where two make the folder of their keys at once (versitygw 1.8.0, tried).
 */
export function isUndecided({ code, status }: S3Failure): boolean {
  return status === 409 && /^(ConditionalRequestConflict|OperationAborted|ExistingObjectIsDirectory)$/.test(code);
}

/** The catalogue's error for what went wrong at `place`; errors of the catalogue pass. */
export function s3Error(place: string, thrown: unknown): LongshoreError {
  if (thrown instanceof LongshoreError) return thrown;
  const failure = failureOf(thrown);
  const { type, mend } = kindOf(failure);
  const status = failure.status === undefined ? '' : `, HTTP ${failure.status}`;
  const cause = new Error(`${failure.code}: ${failure.message}`);
  return new LongshoreError(
    type,
    `The file store (${place}) ${VERBS[type] ?? 'failed'} (${failure.code}${status}): ${failure.message.replace(/\.+$/, '')}.`,
    mend,
    { cause },
  );
}

const VERBS: { readonly [type in ErrorType]?: string } = {
  StoreUnavailable: 'cannot be used now',
  StoreFull: 'has no room',
  StoreDenied: 'refuses access',
  StoreMisconfigured: 'cannot be used as it is set up',
};

const RIGHTS =
  'Give the identity the rights s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload and s3:ListBucket.';
const CREDENTIALS = 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to credentials of this server.';
const CLOCK = "Set this machine's clock: requests are signed with the time.";
const RENEW = 'Renew the credentials, and start the Worker again if they stand in its environment.';
const LATER = 'It is tried again. If it lasts, look after the server and the network to it.';

const KINDS: Readonly<Record<string, Kind>> = {
  AccessDenied: { type: 'StoreDenied', mend: RIGHTS },
  Forbidden: { type: 'StoreDenied', mend: `${RIGHTS} Or the credentials are wrong.` },
  AllAccessDisabled: { type: 'StoreDenied', mend: RIGHTS },
  AccountProblem: { type: 'StoreDenied', mend: 'Look at the account with its provider.' },
  InvalidAccessKeyId: { type: 'StoreDenied', mend: CREDENTIALS },
  XAdminUserNotFound: { type: 'StoreDenied', mend: CREDENTIALS }, // an unknown key, in versitygw
  InvalidToken: { type: 'StoreDenied', mend: CREDENTIALS },
  SignatureDoesNotMatch: { type: 'StoreDenied', mend: CREDENTIALS },
  CredentialsProviderError: { type: 'StoreDenied', mend: CREDENTIALS },
  RequestTimeTooSkewed: { type: 'StoreDenied', mend: CLOCK },
  // These pass by themselves where the credentials are renewed.
  ExpiredToken: { type: 'StoreUnavailable', mend: RENEW },
  TokenRefreshRequired: { type: 'StoreUnavailable', mend: RENEW },
  NoSuchBucket: { type: 'StoreMisconfigured', mend: 'Make the bucket, or name another one in `store.bucket`.' },
  PermanentRedirect: { type: 'StoreMisconfigured', mend: "Set `store.region` to the bucket's region." },
  AuthorizationHeaderMalformed: { type: 'StoreMisconfigured', mend: "Set `store.region` to the bucket's region." },
  RegionMissing: { type: 'StoreMisconfigured', mend: 'Set `store.region`, or AWS_REGION.' },
  NotImplemented: {
    type: 'StoreMisconfigured',
    mend: 'Use a server that has conditional writes, multipart uploads and the encryption that is set.',
  },
  QuotaExceeded: { type: 'StoreFull', mend: 'Raise the quota, or remove what is not needed.' },
  XMinioStorageFull: { type: 'StoreFull', mend: 'Give the server more room.' },
  XMinioAdminBucketQuotaExceeded: { type: 'StoreFull', mend: "Raise the bucket's quota." },
};

/** 4xx that pass by themselves. A broken digest is a body that was damaged on its way. */
const PASSING = new Set(['RequestTimeout', 'BadDigest', 'XAmzContentSHA256Mismatch', 'IncompleteBody', 'NoSuchUpload']);

function kindOf({ code, status, message }: S3Failure): Kind {
  const known = KINDS[code];
  if (known !== undefined) return known;
  if (code.startsWith('KMS')) return { type: 'StoreDenied', mend: 'Give the identity the right to use the KMS key.' };
  if (message.startsWith('Region is missing'))
    return KINDS['RegionMissing'] ?? { type: 'StoreMisconfigured', mend: '' };
  if (status === 507) return { type: 'StoreFull', mend: 'Give the server more room.' };
  if (status === 501) return KINDS['NotImplemented'] ?? { type: 'StoreMisconfigured', mend: '' };
  if (status === 404)
    return { type: 'StoreMisconfigured', mend: 'Make the bucket, or name another one in the settings.' };
  if (status === 401 || status === 403) return { type: 'StoreDenied', mend: RIGHTS };
  const passes = PASSING.has(code) || status === undefined || status >= 500 || PASSING_STATUS.has(status);
  if (passes) return { type: 'StoreUnavailable', mend: LATER };
  return { type: 'StoreMisconfigured', mend: 'Check the settings of `store` against what the server offers.' };
}

/** Time-outs, conflicts with other requests, and throttling. */
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 409, 425, 429]);
