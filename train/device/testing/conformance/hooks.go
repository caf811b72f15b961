package conformance

// Optional methods that a backend's test may add, so that more checks can run. A check is
// skipped if its method is missing.

// ScratchPoisoner is a backend that can fill the scratch memory of its operations with NaN
// (bytes 0xFF).
type ScratchPoisoner interface{ PoisonScratch() }

// Failer is a backend whose next operation can be made to fail as on a device.
type Failer interface{ FailNext() }
