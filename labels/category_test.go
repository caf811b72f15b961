package labels

import (
	"os"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// realCategories returns the distinct category URLs of a real file.
func realCategories(t *testing.T, elem ...string) []string {
	t.Helper()
	f := must.Get(os.Open(goldens.Shared(t, elem...)))(t)
	defer f.Close()
	s := must.Get(readSheet(f, elem[len(elem)-1]))(t)
	c := s.column("category")
	var urls []string
	for i := range s.rows {
		urls = append(urls, s.rows[i].fields[c])
	}
	return urls
}

func TestTitleAndCategoryURLAreInverseOnRealRows(t *testing.T) {
	for _, c := range []struct {
		rows int
		path []string
	}{
		{919, []string{"data", "wikimedia", "real_rows.csv"}},
		{130, []string{"data", "gldv2", "label_wikidata_coords_sample.csv"}},
		{844, []string{"data", "wikimedia", "gldv2", "walandmarks_landmarks_washington_full.csv"}},
	} {
		t.Run(c.path[len(c.path)-1], func(t *testing.T) {
			urls := realCategories(t, c.path...)
			if len(urls) != c.rows {
				t.Fatalf("%d rows, want %d", len(urls), c.rows)
			}
			for _, u := range urls {
				title, err := Title(u)
				if err != nil {
					t.Errorf("%v", err)
				} else if back := CategoryURL(title); back != u {
					t.Errorf("%s -> %s -> %s", u, title, back)
				}
			}
		})
	}
}

func TestTitle(t *testing.T) {
	const p = categoryURL
	for _, c := range []struct{ url, title string }{
		{p + "Happy_Valley_Racecourse", "Category:Happy Valley Racecourse"},
		{p + "Tweed_Heads,_New_South_Wales", "Category:Tweed Heads, New South Wales"},
		{p + "Festival_de_Vi%C3%B1a_del_Mar", "Category:Festival de Viña del Mar"},
		{p + "Fort_Warren_%26_Co", "Category:Fort Warren & Co"},
		{p + "A_%E2%80%94_B", "Category:A — B"},
		{p + "%22Quoted%22%3F%2B", `Category:"Quoted"?+`},
		{p + "AC/DC_Lane", "Category:AC/DC Lane"},
		{p + "100%_wool", "Category:100% wool"},
		{p + "100%zz%C3%B1", "Category:100%zzñ"},
		{p + "__a__b_", "Category:A b"},
		{p + "a%C2%A0b", "Category:A b"},
		{p + "%C3%A9glise", "Category:Église"},
		{p + "%C3%9Fa", "Category:ßa"},
		{"https://commons.wikimedia.org/wiki/Category:X", "Category:X"},
		{"//commons.m.wikimedia.org/wiki/Category:X", "Category:X"},
	} {
		if got, err := Title(c.url); err != nil || got != c.title {
			t.Errorf("Title(%s) = %q, %v; want %q", c.url, got, err, c.title)
		}
	}
}

func TestTitleRefusesOtherPages(t *testing.T) {
	const p = categoryURL
	for url, want := range map[string]string{
		"":                                   "want a URL such as http://commons.wikimedia.org/wiki/Category:Eiffel_Tower",
		"Category:X":                         "want a URL",
		"http://evil.org/wiki/Category:X":    "want a URL",
		"http://commons.wikimedia.org/w/X":   "want a URL",
		p:                                    "the title is empty",
		p + "__%20":                          "the title is empty",
		p + "a?b=c":                          "'?' begins a query or fragment; in a title, write it as %3F",
		p + "a#b":                            "in a title, write it as %23",
		p + "a%23b":                          "a title cannot contain '#'",
		p + "a%0Ab":                          "a title cannot contain '\\n'",
		p + "a%00":                           "a title cannot contain '\\x00'",
		p + "a|b":                            "a title cannot contain '|'",
		p + "Vi%F1a":                         "the decoded escapes are not UTF-8",
		p + strings.Repeat("%C3%A9", 128):    "the title has 256 bytes; want at most 255",
		"http://commons.wikimedia.org/wiki/": "want a URL",
	} {
		if got, err := Title(url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Title(%s) = %q, %v; want %s", url, got, err, want)
		}
	}
}

func TestCategoryURLEscapesAsGLDv2Does(t *testing.T) {
	want := categoryURL + "A_b%26c%22%3F%2B%25%3D%60/'(),.-%E2%80%99"
	for _, title := range []string{"A b&c\"?+%=`/'(),.-’", "Category:A b&c\"?+%=`/'(),.-’"} {
		if got := CategoryURL(title); got != want {
			t.Errorf("CategoryURL(%s) = %s, want %s", title, got, want)
		}
	}
}

func FuzzTitle(f *testing.F) {
	f.Add(categoryURL + "Vi%C3%B1a_%26,'%")
	f.Fuzz(func(t *testing.T, url string) {
		title, err := Title(url)
		if err != nil {
			return
		}
		if again, err := Title(CategoryURL(title)); err != nil || again != title {
			t.Fatalf("%q -> %q -> %q, %v", url, title, again, err)
		}
	})
}
