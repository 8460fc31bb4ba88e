// Listings of the S3 driver, a page of a thousand after the other, in the order of the keys.
import type { S3Connection } from './s3-client.ts';

/** One key of a listing. */
export interface ListedKey {
  readonly Key: string;
  readonly bytes: number;
  /** By the server's clock, which counts in seconds; milliseconds since 1970. */
  readonly modifiedMs: number;
}

/** Every key that begins with a prefix. */
export async function* listKeys(connection: S3Connection, prefix: string): AsyncGenerator<ListedKey> {
  let token: string | undefined;
  do {
    const from = token;
    const page = await connection.send(async (s3) =>
      s3.listObjectsV2({
        Bucket: connection.bucket,
        Prefix: prefix,
        ...(from !== undefined && { ContinuationToken: from }),
      }),
    );
    for (const { Key, Size, LastModified } of page.Contents ?? []) {
      if (Key !== undefined) yield { Key, bytes: Size ?? 0, modifiedMs: LastModified?.getTime() ?? 0 };
    }
    token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
  } while (token !== undefined);
}
