package mpi

import (
	"strings"
	"testing"
)

// A library that is named and missing is an error with its name, not a reason to look for another.
func TestNamedLibraryIsTheOnlyOneTried(t *testing.T) {
	_, err := Open(func(name string) string {
		if name == Variable {
			return "libnowhere.so.9"
		}
		return ""
	})
	if err == nil || !strings.Contains(err.Error(), "libnowhere.so.9") && !strings.Contains(err.Error(), "unsupported") {
		t.Errorf("%v", err)
	}
}

func TestGatherChecksItsSizes(t *testing.T) {
	w := &World{size: 3}
	if err := w.AllGather(make([]byte, 8), make([]byte, 4)); err == nil {
		t.Error("8 bytes took 3 parts of 4")
	}
	if w.Calls() != 1 {
		t.Errorf("%d calls", w.Calls())
	}
}
