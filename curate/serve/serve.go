// Package serve is the web page of stage 3. It shows the draft.json of stage 2 in a
// browser on the curator's machine and appends every edit to edits.jsonl.
//
// The log is the state. An edit is answered once it is on disk, with what it changed;
// the page holds a copy of the state and asks for changes. Vectors, k-means and images
// come through the interfaces below.
//
// Every request passes the guard (see guard.go). The page is opened by a link that
// works once.
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
	// is in group in[i], or in none if that is −1; decided[i] says whether a curator put it
	// there. The rest stays as it was.
	Place(groups int, names map[int]string, tags, in []int, decided []bool)
	// Name gives a group the vector of its name, nil for none.
	Name(group int, vector []float32)
	// Proposals prepares to propose groups for tags. The function that it returns may run
	// beside other calls. It returns the n best groups of each tag, −1 to drop it, by their names and what is decided,
	// and by how much the first leads the second; nothing if fewer than two groups have names.
	Proposals(tags []int, n int) func(ctx context.Context) (groups [][]int, leads []float64, err error)
	// Nearest returns the n groups whose centroids are nearest to the mean of the tags,
	// and their distances, nearest first. It leaves out groups for which skip is true.
	Nearest(tags []int, n int, skip func(group int) bool) (groups []int, distances []float64)
	// Candidates returns the n tags nearest to a group's centroid among those for which
	// take is true, and their distances, nearest first.
	Candidates(group, n int, take func(tag int) bool) (tags []int, distances []float64)
	// Like returns the n tags nearest to the mean of some tags among those for which take is true, and their
	// distances, nearest first.
	Like(tags []int, n int, take func(tag int) bool) (like []int, distances []float64)
	// Distance returns the distance from a tag to the centroid of its group.
	Distance(tag int) float64
}

// Where returns the state of places of a session, as Suggester.Place takes it.
func Where(s *curate.Session, places []curate.Place) (groups int, names map[int]string, tags, in []int,
	decided []bool) {
	names = map[int]string{}
	for _, at := range places {
		switch n := s.Node(at.Level, at.At); {
		case at.Level == 0:
			tags, in, decided = append(tags, at.At), append(in, n.Parent), append(decided, n.Decided)
		case at.Level == 1 && n.Gone:
			names[at.At] = ""
		case at.Level == 1:
			names[at.At] = n.Name
		}
	}
	return s.Size(1), names, tags, in, decided
}

// Namer encodes names of groups as the tags were encoded.
type Namer interface {
	// Names returns a vector for each name, nil for one that it cannot encode. It may run
	// beside other calls.
	Names(ctx context.Context, names []string) ([][]float32, error)
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
	Title  string   `json:"title"`            // landmark's name
	Link   string   `json:"link,omitempty"`   // address of its Commons category, "" if it has none
	Images []string `json:"images,omitempty"` // names that Exampler.Image takes
}

// Exampler finds examples of what a tag stands for. It is safe for concurrent use.
type Exampler interface {
	// Examples calls show for at most n landmarks that carry the tag, those with images
	// first, with the title, the address of the Commons category ("" for none) and the
	// names of images.
	Examples(tag, n int, show func(title, link string, images []string)) error
	// Image returns the bytes of an image that Examples named.
	Image(ctx context.Context, name string) ([]byte, error)
	// HasImages reports whether there are images at all.
	HasImages() bool
	// Thumbnail returns the bytes of a small version of an image that Examples named, for a row
	// of the page.
	Thumbnail(ctx context.Context, name string) ([]byte, error)
}

// Config is what a page is made of. Session, Save, Hosts and Queue are required;
// without one of the others the page lacks the feature.
type Config struct {
	// Session has the edits of the log replayed on it.
	Session *curate.Session
	// Save appends an edit to the log and returns when it is on disk.
	Save func(curate.Edit) error
	By   string // name of the curator
	Log  string // name of the log, to show

	// Hosts are the values of the Host header that are served, such as
	// "127.0.0.1:8350".
	Hosts  []string
	Origin string // address of a proxy with TLS through which people come, such as "https://curate.example.org"
	// People are those who may come by Origin. Their edits have their names.
	People []Person
	// Queue names the log in the browser's storage, where unsaved edits wait. It must
	// be the same each time that the log is served.
	Queue string

	// Suggester suggests groups for tags, and tags for groups.
	Suggester Suggester
	// Namer lets groups that were declared by name be near what their name says.
	Namer Namer
	// Splitter previews the division of a group.
	Splitter Splitter
	// Mapper draws the map.
	Mapper Mapper
	// Examples shows landmarks that carry a tag.
	Examples Exampler
	Compared *curate.ManyComparison // comparison that an adjudicator works through
	New      []int                  // tags that an earlier draft did not have
	Names    []string               // those of the curators of Compared

	// WriteHierarchy writes the hierarchy and returns what to tell the curator. Unless replace is set,
	// it returns a *ReplaceError instead of replacing the result of other logs, or a file that somebody changed.
	WriteHierarchy func(replace bool) (string, error)
	// Linked is called when the one-time link has been used, with the key of the next
	// one.
	Linked func(key string)
	// Now returns the time of an edit; nil for the clock.
	Now func() time.Time
}

// Server serves the page.
type Server struct {
	c     Config
	guard *guard

	mu            sync.Mutex
	session       *curate.Session
	seen          [][]int32           // version of the last change of each place, by level
	recent        []curate.Place      // latest changed places, oldest first
	recentFrom    int                 // recent has no changes before this version
	ids           map[string]int      // numbers of the edits by their order's ID
	changed       chan struct{}       // closed at the next edit
	present       map[string]presence // people by name
	moved         map[int]distanceRow // of tags that have left their draft cluster
	draftCluster  []int32             // cluster of each tag in the draft
	draftDistance []float32           // distance of each tag in the draft
	outlier       []bool
	draft         string // identifies the draft

	naming naming

	mapMu  sync.Mutex
	places [][2]float32

	marginMu   sync.Mutex
	marginList []float32

	closing chan struct{}
	stopped sync.Once
}

// distanceRow is the distance of a tag in the group that it was moved to.
type distanceRow struct {
	group int
	d     float32
}

// New makes the server of a page.
func New(c Config) (*Server, error) {
	if c.Session == nil || c.Save == nil || len(c.Hosts) == 0 || c.Queue == "" {
		return nil, errors.New("serve: Session, Save, Hosts and Queue are required")
	}
	if c.Now == nil {
		c.Now = func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
	}
	s := &Server{c: c, session: c.Session, ids: map[string]int{}, changed: make(chan struct{}),
		closing: make(chan struct{}), moved: map[int]distanceRow{}, present: map[string]presence{}}
	s.guard = newGuard(c.Hosts, c.Linked)
	if err := s.guard.admit(c.Origin, c.People); err != nil {
		return nil, fmt.Errorf("serve: %.80q: %w", c.Origin, err)
	}
	for _, e := range c.Session.Edits() {
		if id := editID(e); id != "" {
			s.ids[id] = e.Seq
		}
	}
	s.readDraft()
	s.recentFrom, s.seen = c.Session.Version(), make([][]int32, len(c.Session.Levels()))
	for l := range s.seen {
		s.resizeSeen(l)
	}
	s.naming.vectors = map[string][]float32{}
	s.mu.Lock() // names are encoded beside this, and given to the suggester when they are known
	defer s.mu.Unlock()
	s.updatePlaces(c.Session.Places())
	return s, nil
}

// readDraft records the cluster of each tag in the draft, and computes the draft's identifier.
func (s *Server) readDraft() {
	d := s.session.Draft()
	n := len(d.Tags)
	s.draftCluster, s.draftDistance, s.outlier = make([]int32, n), make([]float32, n), make([]bool, n)
	for k, c := range d.Clusters {
		for _, m := range c.Members {
			s.draftCluster[m.Tag], s.draftDistance[m.Tag], s.outlier[m.Tag] = int32(k), float32(m.Distance), m.Outlier
		}
	}
	sum := sha256.New() // writing to a hash cannot fail
	for i, t := range d.Tags {
		fmt.Fprintf(sum, "%q %q %d\n", t.Name, t.QID, s.draftCluster[i])
	}
	s.draft = hex.EncodeToString(sum.Sum(nil)[:8])
}

// resizeSeen adjusts the list of versions of a level to its size. New places count as changed
// now.
func (s *Server) resizeSeen(level int) {
	seen := s.seen[level]
	size := s.session.Size(level)
	for len(seen) < size {
		seen = append(seen, int32(s.session.Version()))
	}
	s.seen[level] = seen[:size]
}

// Key returns the key of the current one-time link, "/#key=…".
func (s *Server) Key() string { return s.guard.key() }

// Stop ends the requests that wait for changes, so that the HTTP server can shut down.
func (s *Server) Stop() { s.stopped.Do(func() { close(s.closing) }) }

// Handler returns the guarded handler of all requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /page/{name}", s.asset)
	mux.HandleFunc("GET /image/{name}", s.image)
	mux.HandleFunc("POST "+openPath, s.enter)
	for path, answer := range map[string]func(*http.Request) (any, error){"state": s.state, "changes": s.changes,
		"history": s.history, "stats": s.stats, "snapshots": s.snapshots, "threads": s.threads, "edits": s.tagEdits,
		"group": s.successor} {
		mux.HandleFunc("GET /api/"+path, get(answer))
	}
	mux.HandleFunc("POST /api/edit", s.edit)
	mux.HandleFunc("POST /api/find", post(s.find))
	mux.HandleFunc("POST /api/check", post(s.check))
	mux.HandleFunc("POST /api/finish", needs(s.c.WriteHierarchy != nil, "no file to write is given", s.writeHierarchy))
	vectors := func(has bool, path string, answer http.HandlerFunc) {
		mux.HandleFunc(path, needs(has, "this draft has no vectors", answer))
	}
	vectors(s.c.Suggester != nil, "GET /api/margins", get(s.margins))
	vectors(s.c.Suggester != nil, "POST /api/suggest", post(s.suggest))
	vectors(s.c.Suggester != nil, "POST /api/candidates", post(s.candidates))
	vectors(s.c.Suggester != nil, "POST /api/like", post(s.like))
	vectors(s.c.Suggester != nil, "POST /api/proposals", post(s.proposals))
	vectors(s.c.Suggester != nil, "POST /api/classes", post(s.classes))
	vectors(s.c.Suggester != nil, "POST /api/choices", post(s.choices))
	vectors(s.c.Splitter != nil, "POST /api/split", post(s.split))
	vectors(s.c.Mapper != nil, "GET /api/map", get(s.plane))
	mux.HandleFunc("GET /api/examples", needs(s.c.Examples != nil, "no tags.jsonl is given", get(s.examples)))
	mux.HandleFunc("GET /api/thumbnails", needs(s.c.Examples != nil, "no tags.jsonl is given", get(s.thumbnails)))
	mux.HandleFunc("GET /api/agreement", needs(s.c.Compared != nil, "this is not an adjudication", get(s.agreement)))
	return s.guard.wrap(mux)
}
