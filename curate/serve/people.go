package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
)

// Person is somebody who may curate from another machine, through a proxy.
type Person struct {
	Name string // author of their edits
	Pass string // key of their link, which works as often as they open it
}

// leastPass is the length of the shortest pass that is accepted. rand.Text makes 26 characters.
const leastPass = 20

// ReadPeople reads a file with a name on each line and, after a tab, a pass. A name without one gets a pass,
// which is written to the file. Only the owner may read the file. Empty lines, and those that begin with #, are kept.
func ReadPeople(path string) ([]Person, error) {
	data, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var people []Person
	var out bytes.Buffer
	names, passes := map[string]bool{}, map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			fmt.Fprintln(&out, lines.Text())
			continue
		}
		name, pass, _ := strings.Cut(line, "\t")
		p := Person{Name: strings.TrimSpace(name), Pass: strings.TrimSpace(pass)}
		if p.Pass == "" {
			p.Pass = rand.Text()
		}
		switch {
		case !utf8.ValidString(p.Name) || strings.ContainsFunc(p.Name, unicode.IsControl):
			return nil, fmt.Errorf("%s:%d: the name is not text", path, n)
		case names[p.Name]:
			return nil, fmt.Errorf("%s:%d: %.80q is there twice", path, n, p.Name)
		case len(p.Pass) < leastPass || url.PathEscape(p.Pass) != p.Pass:
			return nil, fmt.Errorf("%s:%d: the pass of %.80q must be at least %d letters and digits; leave it out, and "+
				"hgld makes one",
				path, n, p.Name, leastPass)
		case passes[p.Pass]:
			return nil, fmt.Errorf("%s:%d: %.80q has the pass of somebody else", path, n, p.Name)
		}
		names[p.Name], passes[p.Pass] = true, true
		people = append(people, p)
		fmt.Fprintf(&out, "%s\t%s\n", p.Name, p.Pass)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(people) == 0 {
		return nil, fmt.Errorf("%s: names nobody; want a name on each line", path)
	}
	if !bytes.Equal(out.Bytes(), data) {
		if err := os.Chmod(path, 0o600); err != nil { // before there is a pass in it
			return nil, err
		}
		return people, atomicfile.WriteFileMode(path, out.Bytes(), 0o600)
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: others can read the passes; `chmod 600` it", path)
	}
	return people, err
}

// HostOf returns the host of an origin, such as "https://curate.example.org".
func HostOf(origin string) (host string, err error) {
	u, err := url.Parse(origin)
	if err != nil {
		return "", err
	}
	if u.Scheme != "https" || u.Host == "" || origin != "https://"+u.Host || strings.ToLower(u.Host) != u.Host {
		return "", errors.New("an origin is https:// and the name of a host in small letters, without a path: " +
			"https://curate.example.org")
	}
	return u.Host, nil
}

// member is somebody whom the guard knows: the curator at this machine, whose name is "", or a person.
type member struct {
	name   string
	secret string
}

func (m *member) token() string { return derive(m.secret, "token") }

type memberKey struct{}

// author is the name of whoever sent a request that the guard has let pass.
func (s *Server) author(r *http.Request) string {
	if m, _ := r.Context().Value(memberKey{}).(*member); m != nil && m.name != "" {
		return m.name
	}
	return s.c.By
}

// queue names the log in the storage of a member's browser.
func (s *Server) queue(m *member) string {
	if m == nil || m.name == "" {
		return s.c.Queue
	}
	return s.c.Queue + " of " + m.name
}

func withMember(r *http.Request, m *member) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), memberKey{}, m))
}

func memberOf(r *http.Request) *member {
	m, _ := r.Context().Value(memberKey{}).(*member)
	return m
}
