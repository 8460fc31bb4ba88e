// The bundle of the benchmarks: the bare Workflow beside Longshore's own.
export { bareTurn } from './bare.ts';
export { bareParked, decideParkedUpdate } from './parked.ts';
export { longshoreAgentTurn } from '../../workflows/index.ts';
