package registry

import (
	"errors"
	"strings"
	"testing"
)

func TestGetNamesTheNearest(t *testing.T) {
	table := Table[int]{{Name: "smooth-ap", Value: 1}, {Name: "sup-ap", Value: 2}}
	if v, err := table.Get("loss", "sup-ap"); err != nil || v != 2 {
		t.Fatalf("Get = %d, %v", v, err)
	}
	_, err := table.Get("loss", "smoth-ap")
	var unknown *UnknownError
	if !errors.As(err, &unknown) || unknown.Nearest != "smooth-ap" {
		t.Fatalf("error = %v, want one that proposes smooth-ap", err)
	}
	if !strings.Contains(err.Error(), "sup-ap") {
		t.Errorf("error %q does not list the known names", err)
	}
}

func TestAboutReturnsTheSummaryOfAnEntry(t *testing.T) {
	table := Table[int]{{Name: "a", About: "first"}, {Name: "b", About: "second"}}
	if got := table.About("b") + table.About("c"); got != "second" {
		t.Errorf("about b and c: %q, want second", got)
	}
}

func TestNearestReturnsNothingForDistantNames(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"zzzzzz", ""}, {"trian", "train"}, {"cl", ""}, {"clus", "cluster"}, {"scrap", "scrape"},
	} {
		if got := Nearest(c.name, []string{"train", "cluster", "scrape"}); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}
