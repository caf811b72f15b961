package device

import "fmt"

// OutOfMemory is the error of a device whose memory does not suffice. The caller knows
// the settings that need less; the message gives what it needs to choose.
type OutOfMemory struct {
	What                    string // the operation, or "an array"
	Want, Used, Free, Total int    // bytes; Used by this process, Free on the device
	Host                    bool   // the device is the processor: nothing was allocated, and Total is what the machine has
}

// Error gives what was wanted and what there is, in MiB.
func (e *OutOfMemory) Error() string {
	if e.Host {
		return fmt.Sprintf("not enough memory: %s needs %s, and this machine has %s", e.What, mebibytes(e.Want),
			mebibytes(e.Total))
	}
	return fmt.Sprintf("out of device memory: %s wants %s more, %s are in use here, %s of %s are free",
		e.What, mebibytes(e.Want), mebibytes(e.Used), mebibytes(e.Free), mebibytes(e.Total))
}

// mebibytes writes a size in MiB, or in GiB from ten of them on.
func mebibytes(n int) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
