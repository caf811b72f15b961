package devicetest

// What a backend's test may add to it, so that more can be tested. A check whose hook is
// not there does not run.

// ScratchPoisoner is a backend that can spoil the memory which its operations keep for
// themselves: with NaN, bytes 0xFF.
type ScratchPoisoner interface{ PoisonScratch() }

// Failer is a backend of which the next operation can be made to fail, as a device
// would.
type Failer interface{ FailNext() }
