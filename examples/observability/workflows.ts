// The Workflows of the observed Worker: Longshore's turn alone.
export { longshoreAgentTurn } from 'longshore/workflow';
