package polite

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// families are the domains of the Wikimedia Foundation that its robot policy covers.
var families = []string{
	"wikimedia.org", "wikipedia.org", "wikidata.org", "mediawiki.org", "wiktionary.org", "wikibooks.org", "wikinews.org",
	"wikiquote.org", "wikisource.org", "wikiversity.org", "wikivoyage.org", "wikifunctions.org", "wmflabs.org",
	"toolforge.org",
}

// Wikimedia reports whether a host ("name" or "name:port") belongs to Wikimedia.
func Wikimedia(host string) bool {
	name := strings.TrimSuffix(strings.ToLower((&url.URL{Host: host}).Hostname()), ".")
	return slices.ContainsFunc(families, func(f string) bool { return name == f || strings.HasSuffix(name, "."+f) })
}

// ErrHost reports that a request, or a redirect, leads to a host that is not in
// Settings.Hosts. It was not sent.
var ErrHost = errors.New("the host is not in the list of allowed hosts")

func (t *Transport) allowed(u *url.URL) error {
	if (u.Scheme == "https" || u.Scheme == "http") && u.User == nil &&
		slices.ContainsFunc(t.settings.Hosts, func(h string) bool { return strings.EqualFold(h, u.Host) }) {
		return nil
	}
	return ErrHost
}
