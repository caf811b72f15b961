package polite

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// commons is the relevant part of the real file.
const commons = "User-agent: *\nAllow: /w/api.php?action=mobileview&\nAllow: /w/load.php?\nDisallow: /w/\n" +
	"Disallow: /api/\nDisallow: /trap/\nDisallow: /wiki/Special:\n"

// lawful is a site with a robots.txt of the test's own.
func lawful(t *testing.T, law http.HandlerFunc) (*httptest.Server, Settings, *stillClock) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/robots") {
			law(w, r)
			return
		}
		io.WriteString(w, "page")
	}))
	t.Cleanup(server.Close)
	clock := newClock()
	s := Defaults()
	s.Hosts, s.Clock, s.Rate, s.UserAgent = []string{strings.TrimPrefix(server.URL, "http://")}, clock, 1000,
		"hgld-bot/1 (me@uni.edu)"
	return server, s, clock
}

func TestRobotsTxtIsHonoured(t *testing.T) {
	var reads atomic.Int32
	server, s, clock := lawful(t, func(w http.ResponseWriter, r *http.Request) {
		reads.Add(1)
		io.WriteString(w, commons)
	})
	tr, _, _, err := get(t, s, server.URL+"/wiki/Category:Happy_Valley_Racecourse")
	must.Do(t, err)
	for path, allowed := range map[string]bool{
		"/wiki/Category:Vi%C3%B1a_(A)": true, "/w/load.php?x=1": true,
		"/w/api.php?action=query": false, "/wiki/Special:Search": false, "/trap/": false,
	} {
		_, _, err := fetch(tr, server.URL+path)
		if errors.Is(err, ErrRobots) == allowed || (allowed && err != nil) {
			t.Errorf("%s: error %v, want allowed = %v", path, err, allowed)
		}
	}
	if reads.Load() != 1 {
		t.Errorf("robots.txt was read %d times, want once", reads.Load())
	}
	clock.Sleep(t.Context(), 25*time.Hour)
	if _, _, err := fetch(tr, server.URL+"/wiki/X"); err != nil || reads.Load() != 2 {
		t.Errorf("after a day: %v, read %d times, want twice", err, reads.Load())
	}
}

func TestRobotsTxtGroupOfOurAgentWins(t *testing.T) {
	server, s, _ := lawful(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "User-agent: hgld-bot\nDisallow: /\n\nUser-agent: *\nDisallow:\n")
	})
	tr, _, _, err := get(t, s, server.URL+"/wiki/A")
	for i := 0; i < 40 && !isStop(err); i++ {
		_, _, err = fetch(tr, server.URL+"/wiki/A")
	}
	if !isStop(err) || tr.Requests() != 1 || !strings.Contains(err.Error(), "robots.txt forbids") {
		t.Errorf("error %v after %d requests; want a stop, and no request but robots.txt", err, tr.Requests())
	}
}

func TestMissingRobotsTxtAllowsAll(t *testing.T) {
	server, s, _ := lawful(t, http.NotFound)
	if _, body, _, err := get(t, s, server.URL+"/w/x"); err != nil || body != "page" {
		t.Errorf("%q, %v", body, err)
	}
}

func TestUnreachableRobotsTxtForbidsRequests(t *testing.T) {
	var healthy atomic.Bool
	server, s, _ := lawful(t, func(w http.ResponseWriter, r *http.Request) {
		if !healthy.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		io.WriteString(w, commons)
	})
	s.Retries = 1
	tr, body, _, err := get(t, s, server.URL+"/wiki/A")
	var status *StatusError
	if !errors.As(err, &status) || body != "" {
		t.Fatalf("%q, %v; want the error of robots.txt and no page", body, err)
	}
	healthy.Store(true)
	if body, _, err := fetch(tr, server.URL+"/wiki/A"); err != nil || body != "page" {
		t.Errorf("after robots.txt came back: %q, %v", body, err)
	}
}

func TestRobotsTxtMayRedirect(t *testing.T) {
	server, s, _ := lawful(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.Redirect(w, r, "/robots2.txt", http.StatusFound)
			return
		}
		io.WriteString(w, commons)
	})
	tr, _, _, err := get(t, s, server.URL+"/wiki/A")
	must.Do(t, err)
	_, _, err = fetch(tr, server.URL+"/w/A")
	if !errors.Is(err, ErrRobots) {
		t.Errorf("error %v, want ErrRobots", err)
	}
}

func TestAPIClientMaySkipRobotsTxt(t *testing.T) {
	server, s, _ := lawful(t, func(http.ResponseWriter, *http.Request) { t.Error("robots.txt was asked for") })
	s.IgnoreRobots = true
	if _, body, _, err := get(t, s, server.URL+"/w/api.php"); err != nil || body != "page" {
		t.Errorf("%q, %v", body, err)
	}
}
