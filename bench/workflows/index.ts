// The bundle of the benchmarks: the bare Workflow beside Longshore's own.
export { bareTurn } from './bare.ts';
export { longshoreAgentTurn } from '../../workflows/index.ts';
