package scrape

import (
	"encoding/csv"
	"os"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
)

func TestTitleIsCanonical(t *testing.T) {
	const wiki = "http://commons.wikimedia.org/wiki/"
	for category, want := range map[string]string{
		wiki + "Category:Happy_Valley_Racecourse":              "Category:Happy Valley Racecourse",
		wiki + "Category:Sparkassen-Arena,_G%C3%B6ttingen":     "Category:Sparkassen-Arena, Göttingen",
		wiki + "Category:Sparkassen-Arena,_Go%CC%88ttingen":    "Category:Sparkassen-Arena, Göttingen", // NFD
		wiki + "Category:Isa_Khan_Niyazi's_tomb":               "Category:Isa Khan Niyazi's tomb",
		wiki + "Category:Isa_Khan_Niyazi%27s_tomb":             "Category:Isa Khan Niyazi's tomb",
		wiki + "Category:A_%26_B":                              "Category:A & B",
		wiki + "Category:100%25_%22x%22_%3F_%2B_a/b":           `Category:100% "x" ? + a/b`,
		wiki + "Category:50%_off":                              "Category:50% off",
		wiki + "Category:__a___b_":                             "Category:A b",
		wiki + "Category:%C3%A9glise":                          "Category:Église",
		wiki + "Category:e%CC%81glise":                         "Category:Église",
		"https://commons.m.wikimedia.org/wiki/Category:Mobile": "Category:Mobile",
		"/wiki/Category:Luitpoldpark_(M%C3%BCnchen)":           "Category:Luitpoldpark (München)",
		"Category:happy_Valley":                                "Category:Happy Valley",
		"Category:A?b+c":                                       "Category:A?b+c",
	} {
		got, err := Title(category)
		if err != nil || got != want {
			t.Errorf("Title(%q) = %q, %v; want %q", category, got, err, want)
			continue
		}
		if again, err := Title(labels.CategoryURL(got)); err != nil || again != got {
			t.Errorf("the URL of %q leads to %q, %v", got, again, err)
		}
	}
}

func TestTitleRefusesOtherURLs(t *testing.T) {
	const wiki = "http://commons.wikimedia.org/wiki/"
	for _, category := range []string{
		"", "Eiffel Tower", wiki, wiki + "Eiffel_Tower", wiki + "Category:", wiki + "Category:___", wiki + "File:A.jpg",
		"http://evil.net/wiki/Category:A", "https://en.wikipedia.org/wiki/Category:A", "javascript:alert(1)",
		"/w/index.php?title=Category:A",
		wiki + "Category:A%0Ab", wiki + "Category:A%00", wiki + "Category:%FF", wiki + "Category:<b>", wiki + "Category:a[b]",
		wiki + "Category:a|b",
		wiki + "Category:..", wiki + "Category:../A", wiki + "Category:a/../b", wiki + "Category:a/.", wiki + "Category::A",
		wiki + "Category:A%2541",
		wiki + "Category:A%26amp;b", wiki + "Category:a~~~b", wiki + "Category:" + strings.Repeat("x", 256),
		wiki + "Category:A%EF%BF%BD",
	} {
		if title, err := Title(category); err == nil {
			t.Errorf("Title(%q) = %q, want an error", category, title)
		}
	}
}

func TestEveryRealCategoryHasATitle(t *testing.T) {
	f := must.Get(os.Open(goldens.Shared(t, "data", "wikimedia", "real_rows.csv")))(t)
	defer f.Close()
	rows := must.Get(csv.NewReader(f).ReadAll())(t)
	seen := map[string]string{}
	for _, row := range rows[1:] {
		title, err := Title(row[2])
		if err != nil {
			t.Error(err)
		}
		if other := seen[title]; other != "" {
			t.Errorf("%s and %s have the title %s", row[2], other, title)
		}
		seen[title] = row[2]
		if back := labels.CategoryURL(title); back != row[2] {
			t.Errorf("%s became %s", row[2], back)
		}
	}
	if len(seen) != 919 {
		t.Errorf("%d rows, want 919", len(seen))
	}
}

func TestFrontierListsEachCategoryOnce(t *testing.T) {
	const wiki = "http://commons.wikimedia.org/wiki/Category:"
	f := newFrontier([]Landmark{
		{0, labels.Train, wiki + "B"}, {1, labels.Train, wiki + "A"}, {2, labels.Train, "http://evil.net/"},
		{3, labels.Train, wiki + "b"}, {4, labels.Train, wiki + "%41"}, {5, labels.Train, wiki + "C"},
	})
	if got := strings.Join(f.titles, "|"); got != "Category:B|Category:A|Category:C" {
		t.Errorf("titles %s", got)
	}
	if f.of[3] != "Category:B" || f.of[4] != "Category:A" || f.of[2] != "" || f.errs[2] == nil {
		t.Errorf("landmarks map to %q, errors %v", f.of, f.errs)
	}
}
