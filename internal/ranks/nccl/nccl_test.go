package nccl

import (
	"strings"
	"testing"
)

func TestVersionsAreWrittenAsNVIDIADoes(t *testing.T) {
	for v, want := range map[Version]string{2804: "2.8.4", 20906: "2.9.6", 21803: "2.18.3", 23203: "2.32.3"} {
		if got := v.String(); got != want {
			t.Errorf("%d is %s, want %s", int(v), got, want)
		}
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	_, err := Open("/nowhere/" + Name)
	if err == nil || !strings.Contains(err.Error(), "/nowhere/"+Name) {
		t.Errorf("a library that is not there: %v", err)
	}
	if _, err = Open("libm.so.6"); err == nil {
		t.Error("another library was taken for NCCL")
	}
}
