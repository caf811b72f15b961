//go:build unix

package text

import "syscall"

// cpuSeconds is what this process has used of the processors, on a machine that
// others use the only time that means something.
func cpuSeconds() (seconds float64, counted bool) {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0, false
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9, true
}
