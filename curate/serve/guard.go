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
	"time"
)

// guard protects the server. A page on localhost can be reached by every page in the
// browser and by every user of the machine. The guard lets a request pass only if
//
//   - its Host is one that the server was started for, which a name that an attacker points
//     at 127.0.0.1 is not (DNS rebinding);
//   - its Origin, if it has one, is that host, and its Sec-Fetch-Site, if it has one, says
//     that the page itself made the request;
//   - it carries the page's token as a header (GETs included), or asks for an image by a name
//     that only the page was told, or for one of the page's own files, which contain nothing
//     of the log;
//   - it is a GET or a POST, and a POST is JSON of limited size: 1 kB and ten seconds as long as
//     it has no token, so that strangers cannot fill the memory.
//
// There is no cookie, because a browser sends the cookies of a host to all of its
// ports. The key of the link is in its fragment, which no request carries. The key
// works once: the page exchanges it for a pass, which belongs to that tab and ends with
// the server. The pass has a token, which the page sends, and a secret, which nobody
// sends and by which the server proves every answer. A program that takes over the port
// later can neither pass for the server nor learn anything that the next server
// accepts.
//
// People on other machines come through a proxy with TLS, which has an origin of its own. Each of
// them has a link whose key works more than once, and a secret of their own, which follows from that key
// and outlives the server: nobody can make a request in another's name.
type guard struct {
	hosts  []string
	origin string // of the proxy, "" for none
	secret string
	people []*member
	passes []string // of people
	local  *member  // the curator at this machine
	linked func(key string)
	wait   time.Duration // for the body of a request without a token

	mu   sync.Mutex
	once string // key of the link that has not been used yet
}

// The headers by which the page and the server recognise each other.
const (
	TokenHeader = "X-Hgld-Token" // the page's token
	NonceHeader = "X-Hgld-Nonce" // a text that the page makes up
	ProofHeader = "X-Hgld-Proof" // the server's proof, from the nonce and the secret
)

// bodyLimit is the largest body of a POST, in bytes: a split of 57,000 tags takes 5 MB.
const bodyLimit = 16 << 20

// Limits of a request without a token. The only one that has a body brings the key of a link.
const (
	strangerBody = 1 << 10 // bytes
	strangerWait = 10 * time.Second
)

func newGuard(hosts []string, linked func(string)) *guard {
	g := &guard{hosts: hosts, secret: rand.Text(), linked: linked, wait: strangerWait, once: rand.Text()}
	g.local = &member{secret: g.secret}
	return g
}

// admit lets people in who come by an origin.
func (g *guard) admit(origin string, people []Person) error {
	if origin == "" && len(people) == 0 {
		return nil
	}
	host, err := HostOf(origin)
	if err != nil {
		return err
	}
	g.hosts, g.origin = append(slices.Clone(g.hosts), host), origin
	for _, p := range people {
		// Their access outlives a restart of the server, as their link does.
		g.people, g.passes = append(g.people, &member{name: p.Name, secret: derive(p.Pass, "person "+p.Name)}),
			append(g.passes, p.Pass)
	}
	return nil
}

// member is whoever has a token, nil if nobody has.
func (g *guard) member(token string) *member {
	var found *member
	for _, m := range append([]*member{g.local}, g.people...) {
		if equal(m.token(), token) {
			found = m
		}
	}
	return found
}

// derive returns one of several independent values derived from the secret, in
// hexadecimal.
func (g *guard) derive(what string) string { return derive(g.secret, what) }

func derive(secret, what string) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(what))
	return hex.EncodeToString(h.Sum(nil))
}

// imageStamp is the length of the proof in an image's name.
const imageStamp = 32

// stamp puts a proof before the name of an image. An image element sends no headers, so
// the proof must be in its address.
func (g *guard) stamp(name string) string { return g.derive("image " + name)[:imageStamp] + name }

// stamped returns the name of an image, and whether its proof is right.
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

// policy has the headers of every answer: only our own files may run, and no other page
// may frame or read ours.
var policy = [][2]string{
	{"Content-Security-Policy", "default-src 'self'; img-src 'self'; object-src 'none'; base-uri 'none'; worker-src " +
		"'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
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
		m := g.member(r.Header.Get(TokenHeader))
		if r.Method != http.MethodGet {
			g.limitBody(w, r, m)
		}
		if why := g.foreignReason(r); why != "" {
			refuse(w, why)
			return
		}
		if why := g.accessReason(r, m); why != "" {
			refuse(w, why)
			return
		}
		if nonce := r.Header.Get(NonceHeader); m != nil && nonce != "" && len(nonce) <= longestNonce {
			w.Header().Set(ProofHeader, derive(m.secret, "proof "+nonce))
		}
		next.ServeHTTP(w, withMember(r, m))
	})
}

// limitBody limits the body of a request, with and without a token.
func (g *guard) limitBody(w http.ResponseWriter, r *http.Request, m *member) {
	if m != nil {
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, strangerBody)
	// It fails on the recorder of a test only, which has no connection.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.wait))
}

func refuse(w http.ResponseWriter, why string) {
	http.Error(w, why, http.StatusForbidden)
}

// foreignReason says why a request does not come from the page; "" if nothing speaks against
// it.
func (g *guard) foreignReason(r *http.Request) string {
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		return "only GET and POST requests are answered"
	case !slices.Contains(g.hosts, r.Host):
		return "this host is not served; use the link that the server prints, through a tunnel with the same port " +
			"on both sides"
	case len(r.Header.Values("Origin")) > 1 || r.Header.Get("Origin") != "" &&
		r.Header.Get("Origin") != g.originOf(r.Host):
		return "this request comes from another page"
	case r.Method == http.MethodPost && r.Header.Get("Origin") == "":
		return "a POST request needs an Origin header"
	case site != "" && site != "same-origin" && (site != "none" || r.URL.Path != "/"):
		return "this request comes from another page"
	}
	return ""
}

// originOf is the origin of the page at a host: the proxy's has TLS.
func (g *guard) originOf(host string) string {
	if g.origin == "https://"+host {
		return g.origin
	}
	return "http://" + host
}

// longestNonce is the longest nonce that is answered.
const longestNonce = 64

// openPath is the path that takes the key of a link; it needs no token.
const openPath = "/api/open"

// accessReason says what a request lacks that only the page has.
func (g *guard) accessReason(r *http.Request, m *member) string {
	switch path := r.URL.Path; {
	case r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/json":
		return "a POST request must be JSON"
	case path == "/" || strings.HasPrefix(path, "/page/") || path == openPath:
	case strings.HasPrefix(path, "/image/"):
		if _, ok := g.stamped(strings.TrimPrefix(path, "/image/")); !ok {
			return "this image name was not given to the page; reload it"
		}
	case m == nil:
		return "this page has no access; open the latest link that the server printed"
	}
	return ""
}

// pass is what the page receives for the key of a link.
type pass struct {
	Token  string `json:"token"`
	Secret string `json:"secret"`
	Queue  string `json:"queue"`            // the log's name in the browser's storage
	Person string `json:"person,omitempty"` // who has a link of their own, that works again and again
}

// open takes the key of a link and returns who has it, nil if nobody has. That of the curator at this machine
// works once, and makes the next one.
func (g *guard) open(key string) *member {
	for i, pass := range g.passes {
		if equal(pass, key) {
			return g.people[i]
		}
	}
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
	if !good {
		return nil
	}
	return g.local
}

// enter answers the key of a link with a pass.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	var link struct {
		Key string `json:"key"`
	}
	if !readJSON(w, r, &link) {
		return
	}
	m := s.guard.open(link.Key)
	if m == nil {
		refuse(w, "this link has been used, or its server has ended, or its person is no longer among those who may come; "+
			"open the latest link that the server printed, or ask for your own")
		return
	}
	writeJSON(w, http.StatusOK, pass{Token: m.token(), Secret: m.secret, Queue: s.queue(m), Person: m.name})
}
