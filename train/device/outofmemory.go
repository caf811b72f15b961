package device

import "fmt"

// OutOfMemory is the error of a device whose memory does not suffice. The caller knows
// the settings that need less; the message gives what it needs to choose.
type OutOfMemory struct {
	What                    string // the operation, or "an array"
	Want, Used, Free, Total int    // bytes; Used by this process, Free on the device
}

// Error gives what was wanted and what there is, in MiB.
func (e *OutOfMemory) Error() string {
	return fmt.Sprintf("out of device memory: %s wants %s more, %s are in use here, %s of %s are free",
		e.What, mebibytes(e.Want), mebibytes(e.Used), mebibytes(e.Free), mebibytes(e.Total))
}

func mebibytes(n int) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
