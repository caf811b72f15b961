// Package usertime measures benchmarks in user time of their process, which depends little on
// other work on the machine.
package usertime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// Inputs is an environment variable that names a folder. If it is set, Measure writes the
// input of each benchmark there, under the benchmark's name, so that other programs can be
// measured with the same bytes.
const Inputs = "HGLD_BENCH_INPUTS"

// Measure benchmarks work, which processes input once per call. In addition to the elapsed
// time it reports calls and bytes per second of user time. The user time includes all
// threads of the process, so run benchmarks with -cpu 1.
func Measure(b *testing.B, input []byte, work func() error) {
	b.Helper()
	if dir := os.Getenv(Inputs); dir != "" {
		name := strings.TrimPrefix(b.Name(), "Benchmark")
		must.Do(b, os.WriteFile(filepath.Join(dir, name), input, 0o644))
	}
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	began, n := Now(), 0
	for b.Loop() {
		must.Do(b, work())
		n++
	}
	if used := (Now() - began).Seconds(); used > 0 {
		b.ReportMetric(float64(n)/used, "calls/user-s")
		b.ReportMetric(float64(n)*float64(len(input))/used/1e6, "MB/user-s")
	}
}
