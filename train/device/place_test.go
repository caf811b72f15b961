package device

import (
	"errors"
	"slices"
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

func TestGroupsOfCardsAreParsed(t *testing.T) {
	for name, want := range map[string][]int{
		"cuda:0-3": {0, 1, 2, 3}, "cuda:0,2,5-7": {0, 2, 5, 6, 7}, "cuda:4-4": {4}, "cuda:3,1": {3, 1}, "cuda:all": nil,
	} {
		g, err := ParseGroup(name)
		if err != nil || g == nil || g.Kind != "cuda" || !slices.Equal(g.Cards, want) {
			t.Errorf("%s: %+v, %v; want %v", name, g, err, want)
		}
	}
	for _, name := range []string{"auto", "cpu", "cuda", "cuda:1", "cuda:-1", "cpu:0-3", "cuda:x"} {
		if g, err := ParseGroup(name); g != nil || err != nil {
			t.Errorf("%s: %+v, %v; want the name of one device", name, g, err)
		}
	}
	for name, want := range map[string]string{
		"cuda:3-0": "want numbers and ranges", "cuda:0-": "want numbers and ranges", "cuda:0,": "want numbers and ranges",
		"cuda:0-99": "want numbers and ranges", "cuda:0-2,1": "names GPU 1 twice",
	} {
		if _, err := ParseGroup(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
