package serve

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A page on localhost is open to every page that the browser shows and to every
// user of the machine. The guard lets a request pass only if
//
//   - its Host is one that the server was started for: a name that an attacker
//     points at 127.0.0.1 is not (DNS rebinding);
//   - its Origin, if it has one, is that host, and Sec-Fetch-Site, if the browser
//     sends it, says that the page itself asks;
//   - it carries the cookie, which is SameSite=Strict, unreadable to scripts, and
//     only given for a link that works once;
//   - below /api/ it carries the page's token as a header, which no other page
//     can send; GETs too, because a rebound name would carry no cookie but a
//     forgotten GET would answer anyway;
//   - it is a GET or a POST, a POST in JSON and of limited size.
//
// Cookies do not tell ports apart, so the cookie's name holds the port.
type guard struct {
	hosts  []string
	cookie string // name
	pass   string // value of the cookie
	token  string
	linked func(key string)

	mu   sync.Mutex
	once string // key of the link that was not used yet
}

// TokenHeader carries the page's token.
const TokenHeader = "X-Hgld-Token"

// bodyLimit is that of a POST: a split of 57,000 tags takes 5 MB.
const bodyLimit = 16 << 20

func newGuard(hosts []string, secret []byte, linked func(string)) *guard {
	g := &guard{hosts: hosts, pass: derive(secret, "cookie"), token: derive(secret, "token"), linked: linked, once: rand.Text()}
	g.cookie = "hgld"
	if _, port, ok := strings.Cut(hosts[0], ":"); ok {
		g.cookie += "-" + port
	}
	return g
}

// derive makes one of several independent values from a secret.
func derive(secret []byte, what string) string {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(what))
	return hex.EncodeToString(h.Sum(nil))
}

func (g *guard) key() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.once
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// policy are the headers of every answer: nothing but our own files runs, and no
// other page may hold ours in a frame or read from it.
var policy = [][2]string{
	{"Content-Security-Policy", "default-src 'self'; img-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Cache-Control", "no-store"},
}

func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, h := range policy {
			w.Header().Set(h[0], h[1])
		}
		if why := g.foreign(r); why != "" {
			refuse(w, why)
			return
		}
		if r.URL.Path == "/" && r.URL.Query().Has("key") {
			g.open(w, r)
			return
		}
		if why := g.unknown(r); why != "" {
			refuse(w, why)
			return
		}
		if r.Method == http.MethodPost {
			r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
		}
		next.ServeHTTP(w, r)
	})
}

func refuse(w http.ResponseWriter, why string) {
	http.Error(w, why, http.StatusForbidden)
}

// foreign says what shows that a request is not the page's; "" for nothing.
func (g *guard) foreign(r *http.Request) string {
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		return "only GET and POST are answered"
	case !slices.Contains(g.hosts, r.Host):
		return "this host is not served; open the link that `hgld curate serve` prints, through a tunnel with the same port on both sides"
	case len(r.Header.Values("Origin")) > 1 || r.Header.Get("Origin") != "" && r.Header.Get("Origin") != "http://"+r.Host:
		return "another page asks"
	case r.Method == http.MethodPost && r.Header.Get("Origin") == "":
		return "a POST says where it comes from"
	case site != "" && site != "same-origin" && (site != "none" || r.URL.Path != "/"):
		return "another page asks"
	}
	return ""
}

// unknown says what a request lacks that only the page has.
func (g *guard) unknown(r *http.Request) string {
	if c, err := r.Cookie(g.cookie); err != nil || !equal(c.Value, g.pass) {
		return "this browser has not been let in; open the link that `hgld curate serve` prints"
	}
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		return ""
	}
	if !equal(r.Header.Get(TokenHeader), g.token) {
		return "the token is missing or of another log; reload the page"
	}
	if r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/json" {
		return "a POST is JSON"
	}
	return ""
}

// open takes the one-time key for a cookie, and makes the next key.
func (g *guard) open(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	good := r.Method == http.MethodGet && equal(r.URL.Query().Get("key"), g.once)
	if good {
		g.once = rand.Text()
	}
	next := g.once
	g.mu.Unlock()
	if !good {
		if g.unknown(r) == "" { // the same browser, which goes back or reloads
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		refuse(w, "this link has been used; `hgld curate serve` has printed another one")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.pass, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	if g.linked != nil {
		g.linked(next)
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
