// This project's own settings; everything that is left out has its default. See docs/reference for all keys.
import { defineConfig } from './shared/config.ts';

export default defineConfig({
  taskQueue: 'longshore',
  prices: {
    // US dollars for a million tokens; the scripted model of the example costs nothing.
    'scripted/main': { inputPerMillionUsd: 0, outputPerMillionUsd: 0 },
  },
});
