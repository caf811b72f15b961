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
//   - it carries the page's token as a header, GETs included, or asks for an image
//     by a name that only the page was told, or for one of the page's own files,
//     which hold nothing of the log;
//   - it is a GET or a POST, a POST in JSON and of limited size.
//
// No cookie is used: a browser sends those of one port of a host to all others. The
// link's key stands in its fragment, which no request carries; it works once, and
// the page exchanges it for a pass, which lives in that tab alone and ends with the
// server. The pass has a token to send, and a secret that is never sent: by the
// secret the server proves every answer. A program that takes the port afterwards
// can neither pass for the server nor learn what the next one accepts.
type guard struct {
	hosts  []string
	secret string
	linked func(key string)

	mu   sync.Mutex
	once string // key of the link that was not used yet
}

// The headers by which the page and the server know each other: the page's token,
// a text that the page makes up, and the server's proof that it knows the secret.
const (
	TokenHeader = "X-Hgld-Token"
	NonceHeader = "X-Hgld-Nonce"
	ProofHeader = "X-Hgld-Proof"
)

// bodyLimit is that of a POST: a split of 57,000 tags takes 5 MB.
const bodyLimit = 16 << 20

func newGuard(hosts []string, linked func(string)) *guard {
	return &guard{hosts: hosts, secret: rand.Text(), linked: linked, once: rand.Text()}
}

// derive makes one of several independent values from the secret, in hexadecimal.
func (g *guard) derive(what string) string {
	h := hmac.New(sha256.New, []byte(g.secret))
	h.Write([]byte(what))
	return hex.EncodeToString(h.Sum(nil))
}

func (g *guard) token() string { return g.derive("token") }

// imageStamp is the length of the proof in an image's name.
const imageStamp = 32

// stamp puts a proof before the name of an image: an element of the page asks for it,
// and sends no header.
func (g *guard) stamp(name string) string { return g.derive("image " + name)[:imageStamp] + name }

// stamped returns the name of an image, and whether it has its proof.
func (g *guard) stamped(text string) (string, bool) {
	if len(text) < imageStamp {
		return "", false
	}
	name := text[imageStamp:]
	return name, equal(g.stamp(name), text)
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
	{"Content-Security-Policy", "default-src 'self'; img-src 'self'; object-src 'none'; base-uri 'none'; worker-src 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
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
		if why := g.unknown(r); why != "" {
			refuse(w, why)
			return
		}
		if nonce := r.Header.Get(NonceHeader); nonce != "" && len(nonce) <= longestNonce {
			w.Header().Set(ProofHeader, g.derive("proof "+nonce))
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

// longestNonce is the longest one that is answered.
const longestNonce = 64

// opening is the path that takes a link's key; it needs no token.
const opening = "/api/open"

// unknown says what a request lacks that only the page has.
func (g *guard) unknown(r *http.Request) string {
	switch path := r.URL.Path; {
	case r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/json":
		return "a POST is JSON"
	case path == "/" || strings.HasPrefix(path, "/page/") || path == opening:
	case strings.HasPrefix(path, "/image/"):
		if _, ok := g.stamped(strings.TrimPrefix(path, "/image/")); !ok {
			return "the page was not told of an image of this name; reload it"
		}
	case !equal(r.Header.Get(TokenHeader), g.token()):
		return "this page has not been let in; open the link that `hgld curate serve` gave last"
	}
	return ""
}

// pass is what the page gets for the key of a link.
type pass struct {
	Token  string `json:"token"`
	Secret string `json:"secret"`
	Queue  string `json:"queue"` // the log's name in the browser's storage
}

// open takes the key of a link, once, and makes the next one.
func (g *guard) open(key string) bool {
	g.mu.Lock()
	good := equal(key, g.once)
	if good {
		g.once = rand.Text()
	}
	next := g.once
	g.mu.Unlock()
	if good && g.linked != nil {
		g.linked(next)
	}
	return good
}

// enter answers the key of a link with a pass.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	var link struct {
		Key string `json:"key"`
	}
	if !read(w, r, &link) {
		return
	}
	if !s.guard.open(link.Key) {
		refuse(w, "this link has been used, or is of a server that has ended; open the one that `hgld curate serve` gave last")
		return
	}
	write(w, http.StatusOK, pass{Token: s.guard.token(), Secret: s.guard.secret, Queue: s.c.Queue})
}
