package device

import (
	"errors"
	"strings"
	"testing"

	"hgld/internal/registry"
)

func TestPlacesAreParsed(t *testing.T) {
	for name, want := range map[string]Place{"auto": {Auto, 0}, "cpu": {CPU, 0},
		"cuda": {"cuda", 0}, "cuda:3": {"cuda", 3}} {
		if p, err := ParsePlace(name); err != nil || p != want {
			t.Errorf("%s: %+v, %v; want %+v", name, p, err, want)
		}
	}
	for _, name := range []string{"cpu:1", "auto:0", "cuda:-1", "cuda:", "cuda:x"} {
		if _, err := ParsePlace(name); err == nil || !strings.Contains(err.Error(), "want one of auto, cpu, cuda") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParsePlace("gpu"); !errors.As(err, new(*registry.UnknownError)) {
		t.Errorf("gpu: %v", err)
	}
}
