// What may pass Temporal as one payload. It takes 2 MiB; above that an Activity's result is tried again for ever, and a
// Workflow's command fails its Workflow Task for ever. Source: architecture D14.

/** Bytes of a payload's JSON, with room for what a codec adds. */
export const PAYLOAD_LIMIT_BYTES = 1_900_000;
