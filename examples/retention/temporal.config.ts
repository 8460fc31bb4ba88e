// A project whose sweeps run every two hours, with a grace age of two days.
import { defineConfig } from 'longshore';

export default defineConfig({ retention: { every: '2h', grace: '48h' } });
