package site

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/scrape/polite"
	"hgld/scrape/testing/fakecommons"
)

func TestSettingsChangeThePoliteness(t *testing.T) {
	for _, k := range Kinds {
		plain := k.Value.Politeness(Settings{})
		if want := k.Value.polite(); plain.Rate != want.Rate || plain.InFlight != want.InFlight {
			t.Errorf("%s: %+v without settings, want the defaults", k.Name, plain)
		}
		for rate, inFlight := range map[float64]int{0: plain.InFlight, 0.5: 1, 2: 2, 2.5: 3, 20: 10} {
			most := map[string]int{"page": polite.WikimediaInFlight, "api": polite.WikimediaAPIInFlight}[k.Name]
			if p := k.Value.Politeness(Settings{Rate: &rate}); p.Rate != rate || p.InFlight != min(inFlight, most) ||
				p.Surface != plain.Surface {
				t.Errorf("%s at %v a second: %+v", k.Name, rate, p)
			}
		}
	}
}

func TestSourcesUseTheHostsOfTheirSettings(t *testing.T) {
	server := httptest.NewServer(fakecommons.New(fakecommons.Corpus(1)))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	s := Settings{Commons: server.URL + "/", Wikidata: server.URL}
	for name, hosts := range map[string]int{"page": 1, "api": 2} {
		kind, err := Kinds.Get("source", name)
		must.Do(t, err)
		w, err := kind.Open(s, time.Now, func(error) {})
		must.Do(t, err)
		if !slices.Equal(w.Polite.Hosts, slices.Repeat([]string{host}, hosts)) || w.Source.Name() != name {
			t.Errorf("%s: %q asked as %s", name, w.Polite.Hosts, w.Source.Name())
		}
		names := Names(s, w.Source)
		settings := map[string]int{"page": 1, "api": 3}[name] // the API also has a language
		if len(names) != settings || names["base_url"] != server.URL {
			t.Errorf("%s: the site is named %v", name, names)
		}
		if _, err := kind.Open(Settings{Commons: "nowhere", Wikidata: server.URL}, time.Now, nil); err == nil {
			t.Errorf("%s: nowhere is a site", name)
		}
		if _, err = kind.Open(Settings{Commons: server.URL, Wikidata: server.URL, Contact: "?"}, time.Now, nil); err == nil {
			t.Errorf("%s: ? is a contact", name)
		}
		wikimedia := Settings{Commons: "https://commons.wikimedia.org", Wikidata: server.URL}
		if _, err = kind.Open(wikimedia, time.Now, nil); err == nil {
			t.Errorf("%s: Wikimedia is asked without a contact", name)
		}
		wikimedia.Contact, wikimedia.Version = "you@university.edu", "1"
		w, err = kind.Open(wikimedia, time.Now, nil)
		if err != nil || !strings.Contains(w.Polite.UserAgent, wikimedia.Contact) {
			t.Errorf("%s: %v with a contact", name, err)
		}
	}
}

func TestNothingIsSentOffline(t *testing.T) {
	for _, k := range Kinds {
		w, err := k.Value.Offline(Settings{Commons: "http://127.0.0.1:1", Wikidata: "http://127.0.0.1:1"})
		if err != nil || w.Transport != nil || w.Source == nil {
			t.Errorf("%s: %+v, %v", k.Name, w, err)
		}
	}
	if _, err := (offline{}).RoundTrip(nil); err == nil {
		t.Error("a request is sent")
	}
}
