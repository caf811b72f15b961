package device

import "fmt"

// OutOfMemory is the error of a device without enough memory. The caller adds which settings need
// less; the message gives the numbers to choose by.
type OutOfMemory struct {
	What                    string // the operation, or "an array"
	Want, Used, Free, Total int    // bytes; Used by this process, Free on the device
	Host                    bool   // the device is the host: nothing was allocated, and Total is the machine's memory

	// Err, in place of What and Want, is a failure of the driver or a library that wanted memory for itself.
	Err error
}

// Unwrap returns Err.
func (e *OutOfMemory) Unwrap() error { return e.Err }

// Error gives the requested and the available memory, in MiB or GiB.
func (e *OutOfMemory) Error() string {
	if e.Host {
		return fmt.Sprintf("not enough memory: %s needs %s, but this machine has %s", e.What, mebibytes(e.Want),
			mebibytes(e.Total))
	}
	rest := fmt.Sprintf("%s are in use here, %s of %s are free", mebibytes(e.Used), mebibytes(e.Free), mebibytes(e.Total))
	if e.Err != nil {
		return fmt.Sprintf("out of device memory: %v; %s", e.Err, rest)
	}
	return fmt.Sprintf("out of device memory: %s needs %s more, %s", e.What, mebibytes(e.Want), rest)
}

// mebibytes formats a size in MiB, or in GiB from 10 GiB on.
func mebibytes(n int) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
