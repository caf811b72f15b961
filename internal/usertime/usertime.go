// Package usertime measures benchmarks by the time that their process computes, which
// other work on the machine hardly changes.
package usertime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Inputs is the environment variable with a folder to which Measure writes what a
// benchmark works on, under the benchmark's name: so that other programs can be
// measured on the same bytes.
const Inputs = "HGLD_BENCH_INPUTS"

// Measure runs a benchmark of work on input. Beside the time on the wall it reports
// calls and bytes by a second of the process's user time. Other threads of the process
// count too; use -cpu 1.
func Measure(b *testing.B, input []byte, work func() error) {
	b.Helper()
	if dir := os.Getenv(Inputs); dir != "" {
		name := strings.TrimPrefix(b.Name(), "Benchmark")
		if err := os.WriteFile(filepath.Join(dir, name), input, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	began, n := now(), 0
	for b.Loop() {
		if err := work(); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if used := (now() - began).Seconds(); used > 0 {
		b.ReportMetric(float64(n)/used, "calls/user-s")
		b.ReportMetric(float64(n)*float64(len(input))/used/1e6, "MB/user-s")
	}
}
