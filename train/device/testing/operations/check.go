package operations

import (
	"bytes"
	"os"
	"testing"
)

// CheckFile fails a test in the folder of package pkg if forwards.go there is not what [File]
// generates with write. With update it writes the file instead.
func CheckFile(t *testing.T, pkg string, write func(out *bytes.Buffer, o Operation), update bool) {
	t.Helper()
	const file = "forwards.go"
	want, err := File("..", pkg, write)
	if err != nil {
		t.Fatal(err)
	}
	if update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not up to date: go generate ./train/device/%s (%v)", file, pkg, err)
	}
}
