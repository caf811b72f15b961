package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cpu"
)

// defect is hgld with a defect in a goroutine.
func defect() {
	endOnPanic()
	device.Do(cpu.New(1), func() error {
		var none []int
		panic(none[len(none)])
	})
}

// broken is a stdout with a defect.
type broken struct{}

func (broken) Write([]byte) (int, error) {
	var none []int
	return none[len(none)], nil
}

func TestADefectHasItsOwnExitCodeAndATrace(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", t.TempDir()) // of Windows
	var errs bytes.Buffer
	code := environment{stdout: broken{}, stderr: &errs}.run([]string{"hgld", "version"})
	found := regexp.MustCompile(`  the trace is in (.*)\n`).FindStringSubmatch(errs.String())
	if code != exitDefect || found == nil || !strings.Contains(errs.String(), "a defect of hgld") ||
		!strings.Contains(errs.String(), "index out of range") || strings.Contains(errs.String(), "goroutine") {
		t.Fatalf("exit code %d:\n%s", code, errs.String())
	}
	trace, err := os.ReadFile(found[1])
	if err != nil || !strings.Contains(string(trace), "broken.Write") || !strings.Contains(string(trace), version) {
		t.Errorf("%v; the trace is\n%s", err, trace)
	}
	t.Setenv("TMPDIR", "/gone")
	t.Setenv("TMP", "/gone")
	errs.Reset()
	if code := (environment{stdout: broken{}, stderr: &errs}).run([]string{"hgld", "version"}); code != exitDefect ||
		!strings.Contains(errs.String(), "broken.Write") {
		t.Errorf("without a place for the trace: exit code %d:\n%s", code, errs.String())
	}
}
