// Package serve is the page of stage 3: it shows the draft.json of stage 2 in a
// browser on the curator's machine and appends every edit to edits.jsonl.
//
// The state is the log. An edit is answered when it is on disk, by what it
// changed; the page holds a copy of the state and asks for what is new. What the
// page needs of vectors, k-means and images it gets through the interfaces below.
//
// Every request passes the guard (see guard.go): the page is reached by a link
// that works once.
package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"hgld/curate"
)

// Suggester knows the vectors of the tags. The server calls it from one goroutine at a
// time. The interfaces here use plain types only, so that the packages that satisfy
// them need not import this one.
type Suggester interface {
	// Place says where tags are and what groups are called: everything at first, then
	// what each edit changed. groups is the number of groups, those that are gone
	// included. names gives groups their names, "" to a group that is gone. Tag tags[i]
	// is in group in[i], or in none if that is −1. The rest stays as it was.
	Place(groups int, names map[int]string, tags, in []int)
	// Nearest returns the n groups whose centroids are nearest to the mean of the tags,
	// and their distances, nearest first. It leaves out groups for which skip is true.
	Nearest(tags []int, n int, skip func(group int) bool) (groups []int, distances []float64)
	// Candidates returns the n tags nearest to a group's centroid among those for which
	// take is true, and their distances, nearest first.
	Candidates(group, n int, take func(tag int) bool) (tags []int, distances []float64)
	// Distance returns the distance from a tag to the centroid of its group.
	Distance(tag int) float64
}

// Where returns what stands at places of a session, as Suggester.Place takes it.
func Where(s *curate.Session, places []curate.Place) (groups int, names map[int]string, tags, in []int) {
	names = map[int]string{}
	for _, at := range places {
		switch n := s.Node(at.Level, at.At); {
		case at.Level == 0:
			tags, in = append(tags, at.At), append(in, n.Parent)
		case at.Level == 1 && n.Gone:
			names[at.At] = ""
		case at.Level == 1:
			names[at.At] = n.Name
		}
	}
	return s.Size(1), names, tags, in
}

// Splitter divides groups.
type Splitter interface {
	// Split divides tags into at most k parts by k-means, each part with the tags
	// nearest to its centroid first. The same seed gives the same parts. It may run
	// beside other calls.
	Split(ctx context.Context, tags []int, k int, seed uint64) ([][]int, error)
}

// Mapper draws the map.
type Mapper interface {
	// Map returns x and y of every tag in the unit square, [tags][2]. It may run beside
	// other calls.
	Map(ctx context.Context) ([][2]float32, error)
}

// Example is a landmark that carries a tag.
type Example struct {
	// Title is the landmark's name.
	Title string `json:"title"`
	// Link is the address of its Commons category, "" if it has none.
	Link string `json:"link,omitempty"`
	// Images are names that Exampler.Image takes.
	Images []string `json:"images,omitempty"`
}

// Exampler finds examples of what a tag stands for. It is safe for concurrent use.
type Exampler interface {
	// Examples calls show for at most n landmarks that carry the tag, those with images
	// first, with the title, the address of the Commons category ("" for none) and the
	// names of images.
	Examples(tag, n int, show func(title, link string, images []string)) error
	// Image returns the bytes of an image that Examples named.
	Image(ctx context.Context, name string) ([]byte, error)
}

// Config is what a page is made of. Session, Save, Hosts and Queue are needed;
// without the others the page lacks what they give.
type Config struct {
	Session *curate.Session         // with the log's edits
	Save    func(curate.Edit) error // returns when the edit is on disk
	By      string                  // the curator
	Log     string                  // its name, to show

	Hosts []string // values of the Host header that are served: "127.0.0.1:8350"
	Queue string   // names the log in the browser's storage, where edits wait: the same each time that it is served

	Suggester Suggester
	Splitter  Splitter
	Mapper    Mapper
	Examples  Exampler
	Compared  *curate.Comparison // what an adjudicator decides
	Names     [2]string          // the two curators of Compared

	// Finish writes the hierarchy and says what came of it.
	Finish func() (string, error)
	// Linked is told when the one-time link has been used, and the next one's key.
	Linked func(key string)
	Now    func() time.Time // time of edits; nil: the clock
}

// Server answers the page.
type Server struct {
	c     Config
	guard *guard

	mu      sync.Mutex
	session *curate.Session
	seen    [][]int32           // version at which each place changed last, by level
	recent  []curate.Place      // what changed last, oldest first
	whole   int                 // versions before this one get everything: recent does not reach back to them
	ids     map[string]int      // numbers of the edits by the id their author gave them
	changed chan struct{}       // closed at the next edit
	extra   map[int]distanceRow // of tags that are not in their draft cluster
	home    []int32             // cluster that the draft has each tag in
	draftD  []float32           // distance that the draft has for each tag
	outlier []bool
	draft   string // tells this draft from another

	mapOnce sync.Mutex
	places  [][2]float32

	closing chan struct{}
	stopped sync.Once
}

// distanceRow is the distance of a tag in the group it was moved to.
type distanceRow struct {
	group int
	d     float32
}

// New makes the server of a page.
func New(c Config) (*Server, error) {
	if c.Session == nil || c.Save == nil || len(c.Hosts) == 0 || c.Queue == "" {
		return nil, errors.New("serve: a session, a log with a name for its queue, and a host are needed")
	}
	if c.Now == nil {
		c.Now = func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
	}
	s := &Server{c: c, session: c.Session, ids: map[string]int{}, changed: make(chan struct{}), closing: make(chan struct{}), extra: map[int]distanceRow{}}
	s.guard = newGuard(c.Hosts, c.Linked)
	for _, e := range c.Session.Edits() {
		if id := editID(e); id != "" {
			s.ids[id] = e.Seq
		}
	}
	s.readDraft()
	s.whole, s.seen = c.Session.Version(), make([][]int32, len(c.Session.Levels()))
	for l := range s.seen {
		s.touch(l)
	}
	s.place(c.Session.Places())
	return s, nil
}

// readDraft notes where the draft has each tag, and which draft it is.
func (s *Server) readDraft() {
	d := s.session.Draft()
	s.home, s.draftD, s.outlier = make([]int32, len(d.Tags)), make([]float32, len(d.Tags)), make([]bool, len(d.Tags))
	for k, c := range d.Clusters {
		for _, m := range c.Members {
			s.home[m.Tag], s.draftD[m.Tag], s.outlier[m.Tag] = int32(k), float32(m.Distance), m.Outlier
		}
	}
	sum := sha256.New() // writing to it cannot fail
	for i, t := range d.Tags {
		fmt.Fprintf(sum, "%q %q %d\n", t.Name, t.QID, s.home[i])
	}
	s.draft = hex.EncodeToString(sum.Sum(nil)[:8])
}

// touch fits the list of versions of a level to its size; new places changed
// now.
func (s *Server) touch(level int) {
	seen := s.seen[level]
	size := s.session.Size(level)
	for len(seen) < size {
		seen = append(seen, int32(s.session.Version()))
	}
	s.seen[level] = seen[:size]
}

// Key is that of the current one-time link, "/#key=…".
func (s *Server) Key() string { return s.guard.key() }

// Stop ends the requests that wait for changes, so that a server can be shut
// down.
func (s *Server) Stop() { s.stopped.Do(func() { close(s.closing) }) }

// Handler answers requests, guarded.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /page/{name}", s.asset)
	mux.HandleFunc("GET /image/{name}", s.image)
	mux.HandleFunc("POST "+opening, s.enter)
	mux.HandleFunc("GET /api/state", s.state)
	mux.HandleFunc("GET /api/changes", s.changes)
	mux.HandleFunc("GET /api/history", s.history)
	mux.HandleFunc("GET /api/group", s.successor)
	mux.HandleFunc("GET /api/map", s.plane)
	mux.HandleFunc("GET /api/examples", s.examples)
	mux.HandleFunc("GET /api/agreement", s.agreement)
	mux.HandleFunc("POST /api/edit", s.edit)
	mux.HandleFunc("POST /api/suggest", s.suggest)
	mux.HandleFunc("POST /api/candidates", s.candidates)
	mux.HandleFunc("POST /api/split", s.split)
	mux.HandleFunc("POST /api/finish", s.finish)
	return s.guard.wrap(mux)
}
